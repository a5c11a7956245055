"""Scheduler classes that replace only the queue of vLLM's scheduler."""

from typing import Any

from vllm.v1.core.sched import async_scheduler, scheduler

from kvopt_vllm.queue import make_queue


class _Ordered(scheduler.Scheduler):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cache = self.kv_cache_config
        if len(cache.kv_cache_groups) != 1:
            raise ValueError("kvopt_vllm: expected a model whose layers share one table of blocks")
        settings = self.vllm_config.additional_config.get("kvopt")
        # The first block is a placeholder, which holds no tokens.
        blocks, ahead = cache.num_blocks - 1, int(self.scheduler_config.async_scheduling)
        self.waiting = make_queue(settings, blocks, self.block_size, ahead, lambda: self.running)


class _OrderedAsync(_Ordered, async_scheduler.AsyncScheduler):
    pass


class Scheduler:
    """The class for ``--scheduler-cls``: makes the one for synchronous or asynchronous steps."""

    def __new__(cls, *args: Any, vllm_config: Any, **kwargs: Any) -> Any:  # noqa: D102
        kind = _OrderedAsync if vllm_config.scheduler_config.async_scheduling else _Ordered
        return kind(*args, vllm_config=vllm_config, **kwargs)
