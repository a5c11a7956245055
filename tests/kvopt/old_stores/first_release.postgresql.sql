CREATE TABLE public.instances (
    sha256 character varying(64) NOT NULL,
    name text NOT NULL,
    document bytea NOT NULL
);
CREATE TABLE public.kvopt_version (
    version integer NOT NULL
);
CREATE SEQUENCE public.kvopt_version_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.kvopt_version_version_seq OWNED BY public.kvopt_version.version;
CREATE TABLE public.proofs (
    key character varying(64) NOT NULL,
    schedule bytea,
    certificate bytea
);
CREATE TABLE public.runs (
    key character varying(64) NOT NULL,
    instance text NOT NULL,
    instance_sha256 character varying(64) NOT NULL,
    family text NOT NULL,
    n integer NOT NULL,
    memory bigint NOT NULL,
    known_optimum bigint,
    section text NOT NULL,
    method text NOT NULL,
    seed bigint NOT NULL,
    time_limit double precision NOT NULL,
    memory_limit double precision,
    threads integer NOT NULL,
    status character varying(16) NOT NULL,
    ending character varying(16) NOT NULL,
    detail text NOT NULL,
    tel bigint,
    lower_bound bigint,
    found_by text NOT NULL,
    bound_source text NOT NULL,
    relaxation double precision,
    seconds double precision NOT NULL,
    solver_seconds double precision,
    start_seconds double precision NOT NULL,
    total_seconds double precision NOT NULL,
    peak_memory bigint NOT NULL,
    nodes bigint,
    solver text NOT NULL,
    incumbents json NOT NULL,
    bounds json NOT NULL,
    code text NOT NULL,
    versions json NOT NULL,
    git_commit text NOT NULL,
    python text NOT NULL,
    platform text NOT NULL,
    cpu text NOT NULL,
    cores integer NOT NULL,
    ram_gb double precision NOT NULL,
    command json NOT NULL,
    finished_utc character varying(40) NOT NULL
);
ALTER TABLE ONLY public.kvopt_version ALTER COLUMN version SET DEFAULT nextval('public.kvopt_version_version_seq'::regclass);
INSERT INTO public.instances VALUES ('3ba48a0e62d04d871f4fb8c9723a6569ea644fea2fbca38ded6c16d368636347', 'tiny_handover', '\x1f8b0800000000000203558cdd0ac2300c855f25f4dabf290ef15544246c9115d766a6e960c8dedd5414e655f872ce775e2e351d057467708f9107ddf898146343dbcaadc0450c5432f571ba75185b1e494a70c7e0fbe917954fe22ccda75c7aeb802d9d01c1d644c147d08ec0e40984736c81ef16361c869ed4732c0b81024bd93c19083d33254d869797f3addd9dbd51c48fd87f69101b5083bd01671d72817a5ec157a9fe947aa91c97ca61bece6f88ff88140c010000');
INSERT INTO public.kvopt_version VALUES (1);
INSERT INTO public.proofs VALUES ('c4483f51d0642a25eee62967de65eeb7115ca7adb6436ca32b7e56363ed9d5be', '\x1f8b08000000000002036d52c18e9c300cfd9511d70ed924840cccad6a7b6ba51e7aa9562b148219d20642496077b49a7f6f1c66a53dec05c5cf0fdbefd9af99d7038c2a3b1fb2bf9b9b03c1b85b2d3cb0ec78c8cce4839a34603e98e9da0c6aeadc06cbfb64e307c54b899ca255a2521424efa8e8aa13eb45df56ba3ef142c952d6a0a4103d28deb75a1555079dd44c7685ac64210b71c2b22384c17558cd6f3d02b1cb127c041ee9f1209f2212c0c6b08e2feb9e61695ab74edd1d89ecb0223b8b72cca82c96989738f47457f2ba4b450a258c50245c4c68b41b4793e0aaaf6b5e48a605b4ad54a5a84efa54725d9742f08a97544b2838a4e9e66b1c774ae20963244998ad0abd5b4644bf9b697dc92536ca5f2ad948913f9b30e4176b5acd4921f1073dafc8fdfce3ebe1dbcfdf5f12e41640193cbe173536971683921429378e2a297ecc6053765501c87c7dbf14ff80fb7a78db17f9e3e390319fe7bbbf3e39bbf5c7e4dd397d733bef94e81be4d6a01b31e674477d8823e1b3378b8f97f2cf9a00d9530226e3e3dd346bd0a883532e73c672ce7f5176e6e2cce5274acf3415eab155d35e91383b6bf4f5705f741aa2f16e5df68bdb9c5d47d8277516af2e8218c5a7376ef269991f2d605ac756ed0b96156177684e3d39114466b7646397fa145dbc4a7e829e69e85b99e81e00fda5786dc302aac3660ca3e84d93bc693c6837a504a784a69fde8018b3bab8ddfe034e592bd461030000', NULL);
INSERT INTO public.proofs VALUES ('ca0fa28c0e8d8ff6e2c4484aadad115263ab07e8c36f8e66e3abbdb885abc2f4', '\x1f8b08000000000002036d524d6fd43010fd2bab5c695cdb719c646f08103d8084041784aac871261b436287d8d97655f5bfe371da52092e96e7cd9beff790793dc2acb2e321fb75764b2068f7db04d72cbb3a64c6faa0ac06f407632feda86cefceb0be76b67e54bc94c8293a256a4541f29e8abeaed82086aed64dc50b254bd98092420ca0f8d06955d43df45233d917b296852c4485696708a3eb315be736db1fd39b4f0bfa62c135f8e8fb41af0ef2362201a66836f137b93b58dbc47e42223b6cc8cee264665613a658d6d8bf7d1aea619f1a29943042917032a1d56e9e4d82eba16978219916d0755295a2ae745572dd9442f09a97544b28380c29f525766ed31e0863244db34c2a0c6e9d11fd64ec769f4b2c94dfd7b29522bf3361cc4f93e9342785c400bd6cc87dfbf9fde1c397efef12e456c03178fcaf6a6e4f1d1a2529926f9e559af8470667356d2a00592eafefe3aff174d7cfa7233f7d6c32faf37c5fb54f9b3d0f57ffee3bcfe3de209f0c6e23da9ceea80fb125fc0e66f55134bf271320bb4d80353e4aa8dd82c63938e532672ce7fc1b65472e8e057d43e991a64403966abb0b121737197d39c43ed0939a68bddbd65d7c67376d33ec9dba090518c11bf3f1e6eb81115692a4d6087be3ac4f87fddf3146731afd92cafd8db2dbdca95d01b27e8176162782a4ab786d5ee2aa9d142e8bb1a716ee03d8e7b299204c46193da6cbf4a9f58ad2a8f5410fac817ea8544a078027a398665c41f518ccd08aeb6ed3ba5b0fdad9e4e094d014f40210c965f1f8f807f271bc95bf030000', '\x1f8b08000000000002031d8d4d0a02310c46af52ba9e457eda26f12a22326a1783ce74a88e20e2dd8d2e02c97b5f9277bc4ecb25ee425cfb74aef73884f81c6f5b7564de6feb5afbf1d4b67fe8472e7569f3b48c8fd69d209865c4422252dcce756efde5620f83cb84e465643204010554cd48340496a4cc192cb9495892621171e16b1e131222cdfe2f5961106634f58306aa9238b30f70f87c01cc3345a3be000000');
INSERT INTO public.runs VALUES ('c4483f51d0642a25eee62967de65eeb7115ca7adb6436ca32b7e56363ed9d5be', 'tiny_handover', '3ba48a0e62d04d871f4fb8c9723a6569ea644fea2fbca38ded6c16d368636347', 'tiny', 2, 8, NULL, '', 'svf', 0, 20, NULL, 1, 'optimal', 'finished', '', 9, 9, 'policy svf', 'volumes', NULL, 0.0193, 0.0006111389993748162, 0.9903, 1.0602, 63463424, NULL, '', '[[0.0007, 9]]', '[[0.0001, 9]]', '3d64427ef1cefb61', '{"python": "3.11.7", "numba": "0.68.1", "numpy": "2.4.6"}', '8f992361c4ebb6a5487c752c954428250c6e32ef', '3.11.7', 'Linux-6.1.0-x86_64-with-glibc2.36', 'AMD EPYC', 2, 25.3, '["evaluate.py", "instances/tiny/handover.json", "--methods", "svf,bound:bound-lp", "--time-limit", "20", "--store", "first.sqlite"]', '2026-11-22T01:24:26+00:00');
INSERT INTO public.runs VALUES ('ca0fa28c0e8d8ff6e2c4484aadad115263ab07e8c36f8e66e3abbdb885abc2f4', 'tiny_handover', '3ba48a0e62d04d871f4fb8c9723a6569ea644fea2fbca38ded6c16d368636347', 'tiny', 2, 8, NULL, '', 'bound:bound-lp', 0, 20, NULL, 1, 'optimal', 'finished', '', 9, 9, 'policy svf', 'volumes', 9, 2.6263, NULL, 0.7597, 3.4687, 261365760, 0, 'HiGHS 1.15.1', '[[0.0071, 9]]', '[[0.0058, 9]]', '700ca3fcf19edf7a', '{"python": "3.11.7", "highspy": "1.15.1", "numba": "0.68.1", "numpy": "2.4.6", "scipy": "1.17.1", "typing_extensions": "4.16.0"}', '8f992361c4ebb6a5487c752c954428250c6e32ef', '3.11.7', 'Linux-6.1.0-x86_64-with-glibc2.36', 'AMD EPYC', 2, 25.3, '["evaluate.py", "instances/tiny/handover.json", "--methods", "svf,bound:bound-lp", "--time-limit", "20", "--store", "first.sqlite"]', '2026-11-22T01:24:30+00:00');
ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY public.kvopt_version
    ADD CONSTRAINT kvopt_version_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.proofs
    ADD CONSTRAINT proofs_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (key);
CREATE INDEX runs_of_instance ON public.runs USING btree (instance_sha256);
ALTER TABLE ONLY public.proofs
    ADD CONSTRAINT proofs_key_fkey FOREIGN KEY (key) REFERENCES public.runs(key) ON DELETE CASCADE;
