"""SCIP, PyJobShop and Vidur on one task, in another environment: JSON in, JSON out."""

import json
import os
import sys
import tempfile
import time
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any


def scip(task: dict[str, Any]) -> dict[str, Any]:
    """Solve a model file and write its solution."""
    model = import_module("pyscipopt").Model()
    began = time.perf_counter()
    model.hideOutput()
    model.readProblem(task["model"])
    model.setParam("limits/time", max(task["limit"] - (time.perf_counter() - began), 0.1))
    model.optimize()
    found = {"seconds": time.perf_counter() - began, "bound": model.getDualbound()}
    if model.getNSols():
        model.writeBestSol(task["solution"])
    return found | {"proved": model.getStatus() == "optimal", "version": f"SCIP {model.version()}"}


def pyjobshop(task: dict[str, Any]) -> dict[str, Any]:
    """Solve the cumulative model of ``formulations.cp.cpsat_model``.

    A request is o tasks that end together and last o, o − 1, ..., 1 rounds.  The longest demands
    s + 1 tokens, each other one 1; so they hold s + j tokens in round j.
    """
    built = import_module("pyjobshop").Model()
    began = time.perf_counter()
    memory, longest = built.add_renewable(capacity=task["memory"]), []
    for arrival, prompt, output in task["requests"]:
        longest.append(len(built.tasks))
        job = built.add_job(release_date=arrival)
        first = built.add_task(job=job, earliest_start=arrival)
        built.add_mode(first, memory, duration=output, demands=prompt + 1)
        for duration in range(1, output):
            layer = built.add_task(earliest_start=arrival)
            built.add_mode(layer, memory, duration=duration, demands=1)
            built.add_end_before_end(first, layer)
            built.add_end_before_end(layer, first)
    built.set_objective(weight_makespan=0, weight_total_flow_time=1)
    left = max(task["limit"] - (time.perf_counter() - began), 0.1)
    found = built.solve(time_limit=left, num_workers=len(os.sched_getaffinity(0)), display=False)
    tasks = found.best.tasks
    return {
        "seconds": time.perf_counter() - began,
        "bound": found.lower_bound,
        "proved": found.status.value == "Optimal",
        "starts": [int(tasks[each].start) for each in longest] if tasks else None,
        "version": f"PyJobShop {version('pyjobshop')}",
    }


def vidur(task: dict[str, Any]) -> dict[str, Any]:
    """Simulate a trace by the scheduler ``sarathi`` with a linear batch time (no profile)."""
    base, prefill, decode, read = task["milliseconds"]

    def batch_time(batch: Any, stage: int) -> SimpleNamespace:
        del stage
        tokens = prefill * batch.num_prefill_tokens + decode * batch.num_decode_tokens
        took = (base + tokens + read * batch.total_num_kv_tokens) / 1000
        return SimpleNamespace(total_time=took, model_time=took)

    config, simulator = import_module("vidur.config"), import_module("vidur.simulator")
    predictors = import_module("vidur.execution_time_predictor").ExecutionTimePredictorRegistry
    request = import_module("vidur.entities.request").Request
    requests = [request(*each) for each in task["requests"]]
    predictors.get = lambda *_, **__: SimpleNamespace(get_execution_time=batch_time)
    generator = SimpleNamespace(generate=lambda: requests)
    simulator.RequestGeneratorRegistry.get = lambda *_: generator
    cluster = config.ClusterConfig(
        replica_config=config.ReplicaConfig(num_pipeline_stages=1, tensor_parallel_size=1),
        replica_scheduler_config=config.SarathiSchedulerConfig(task["running"], task["budget"]),
        cache_config=config.CacheConfig(num_blocks=task["blocks"], watermark_blocks_fraction=0.0),
    )
    with tempfile.TemporaryDirectory() as folder:
        quiet = config.MetricsConfig(
            write_metrics=False, enable_chrome_trace=False, store_plots=False, output_dir=folder
        )
        whole = config.SimulationConfig(
            cluster_config=cluster, metrics_config=quiet, log_level="error"
        )
        began = time.perf_counter()
        run = simulator.Simulator(whole)
        run._write_output = lambda: None
        run.run()
        took = time.perf_counter() - began
    latencies = [each.completed_at - each.arrived_at for each in requests]
    mean = sum(latencies) / len(latencies)
    return {"seconds": took, "value": mean, "version": f"Vidur {version('vidur')}"}


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr
    tools = {"scip": scip, "pyjobshop": pyjobshop, "vidur": vidur}
    print(json.dumps(tools[sys.argv[1]](json.load(sys.stdin))), file=answers)
