-- SPDX-License-Identifier: BSD-2-Clause
-- The tables and views of a file that `gpumemtrace -o FILE.sqlite` writes: the program runs this text, and a test compares
-- this text with the schema of a file.
--
-- Bytes are exact. NULL means "not known", never 0. Times (_ns) are CLOCK_MONOTONIC of the recorded machine; a time of
-- day is the time plus session.wall_ns. Each change of memory has a number, in the order of the records: at change N
-- lives what was born at N or before and has not died at N or before. The view live_at says what lived at a moment.

CREATE TABLE session (              -- one row
  tool TEXT NOT NULL,               -- the version that wrote this file
  recorded_by TEXT,                 -- the version that recorded
  host TEXT,
  kernel TEXT,
  driver TEXT,                      -- of NVIDIA
  layers TEXT NOT NULL,             -- where the numbers come from: api, kernel, nvml, framework
  start_ns INTEGER NOT NULL,        -- the first record
  end_ns INTEGER NOT NULL,          -- the last one
  wall_ns INTEGER,                  -- UNIX time in nanoseconds, less the clock of all other times
  end_reason TEXT,                  -- NULL: the records have no end
  records INTEGER NOT NULL,
  changes INTEGER NOT NULL          -- the number of the last change
);

CREATE TABLE loss (                 -- what is missing in all of the other tables
  what TEXT NOT NULL,
  count INTEGER NOT NULL
);

CREATE TABLE gpu (
  id INTEGER PRIMARY KEY,           -- 0: the GPU is not known
  number INTEGER,                   -- as nvidia-smi counts
  uuid TEXT,
  name TEXT,
  bytes INTEGER
);

CREATE TABLE process (              -- one life of a pid
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  pid_in_namespace INTEGER,
  uid INTEGER,
  command TEXT,
  command_line TEXT,
  cgroup TEXT,
  from_start INTEGER NOT NULL,      -- 1: all of its calls were seen
  attach_ns INTEGER NOT NULL,
  exit_ns INTEGER,
  exit_status INTEGER               -- as of wait(2)
);

CREATE TABLE function (             -- the functions of CUDA that calls are of
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE TABLE call (
  id INTEGER PRIMARY KEY,           -- in order
  ts_ns INTEGER NOT NULL,           -- its return; of a call that releases memory, its beginning
  process INTEGER NOT NULL REFERENCES process(id),
  thread INTEGER NOT NULL,
  function INTEGER NOT NULL REFERENCES function(id),
  result INTEGER,                   -- CUresult; NULL: it begins. One that then fails has a second row
  stack INTEGER REFERENCES stack(id),
  change INTEGER NOT NULL           -- the newest one when the call was over
);

CREATE TABLE allocation (           -- memory that a call asked for
  id INTEGER PRIMARY KEY,           -- in the order of death
  address INTEGER,
  bytes INTEGER,
  class TEXT NOT NULL,              -- device, pool, vmm, array, managed, pinned, registered, imported, graph
  place TEXT NOT NULL,              -- gpu, host; none: imported and planned memory, which is not the process's own
  gpu INTEGER REFERENCES gpu(id),   -- NULL: on no GPU
  process INTEGER NOT NULL REFERENCES process(id),
  thread INTEGER,
  stack INTEGER REFERENCES stack(id),
  call INTEGER REFERENCES call(id),
  is_segment INTEGER NOT NULL,      -- 1: a framework asked for it, and its blocks lie there
  continues INTEGER NOT NULL,       -- 1: the same memory as a row that ended as "changed", or a free that failed
  birth INTEGER NOT NULL,           -- a change
  birth_ns INTEGER NOT NULL,
  death INTEGER,                    -- NULL: it lives to the end
  death_ns INTEGER,
  ended_by TEXT                     -- freed, exec, exit; changed: its GPU or its size became known
);

CREATE TABLE block (                -- memory that a framework's allocator gave to the program, inside of segments
  id INTEGER PRIMARY KEY,           -- in the order of death
  address INTEGER NOT NULL,
  bytes INTEGER,
  asked INTEGER,                    -- what the program asked for
  gpu INTEGER REFERENCES gpu(id),
  device INTEGER,                   -- the framework's number of the GPU
  process INTEGER NOT NULL REFERENCES process(id),
  thread INTEGER,
  stack INTEGER REFERENCES stack(id),
  category TEXT,                    -- what it was for: a guess
  iteration INTEGER,                -- of a training, in which it was made
  continues INTEGER NOT NULL,
  birth INTEGER NOT NULL,
  birth_ns INTEGER NOT NULL,
  death INTEGER,
  death_ns INTEGER,
  ended_by TEXT                     -- freed, exec, exit; lost: the memory below it went
);

CREATE TABLE frame (                -- a place in code
  id INTEGER PRIMARY KEY,
  function TEXT,
  file TEXT,
  line INTEGER,
  module TEXT,                      -- the library or program
  offset INTEGER,                   -- in the module
  is_python INTEGER NOT NULL,
  is_inlined INTEGER NOT NULL,
  is_guessed INTEGER NOT NULL       -- 1: the nearest known name
);

CREATE TABLE stack (
  id INTEGER PRIMARY KEY,
  trace INTEGER,                    -- stacks that read alike have one; NULL: it has no names
  owner TEXT,                       -- whose memory it took
  framework TEXT,                   -- that took the memory for the owner
  line INTEGER REFERENCES frame(id), -- the innermost line of the program's own code
  torch_module TEXT,                -- in which module of torch.nn it ran
  code_category TEXT                -- what blocks are for, by the code that made them
);

CREATE TABLE trace_frame (
  trace INTEGER NOT NULL,
  depth INTEGER NOT NULL,           -- 0: the innermost frame
  frame INTEGER NOT NULL REFERENCES frame(id),
  PRIMARY KEY (trace, depth)
) WITHOUT ROWID;

CREATE TABLE failed_request (       -- a request for memory that failed at first, or for good
  id INTEGER PRIMARY KEY,
  process INTEGER NOT NULL REFERENCES process(id),
  gpu INTEGER REFERENCES gpu(id),
  class TEXT,
  function INTEGER REFERENCES function(id),
  asked INTEGER,
  framework_asked INTEGER,          -- what PyTorch was asked for
  free INTEGER,                     -- on the GPU, as CUDA told the thread
  failures INTEGER NOT NULL,
  outcome TEXT NOT NULL,            -- open, retry, raised, fatal
  stack INTEGER REFERENCES stack(id),
  first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL,
  change INTEGER NOT NULL           -- the newest one when it was seen last
);

CREATE TABLE level (                -- sums beside the calls; a row where one has changed
  kind TEXT NOT NULL,               -- physical: by the kernel driver; nvml: a sample; reserved: by the framework
  process INTEGER NOT NULL REFERENCES process(id),
  gpu INTEGER REFERENCES gpu(id),
  ts_ns INTEGER NOT NULL,
  change INTEGER NOT NULL,
  bytes INTEGER NOT NULL
);

CREATE TABLE moment (               -- moments to ask about; add your own: INSERT INTO moment(kind, ts_ns) VALUES ('mine', 42)
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,               -- peak, end, mark, window, request, iteration
  ts_ns INTEGER NOT NULL,
  change INTEGER,
  process INTEGER REFERENCES process(id), -- NULL: all
  gpu INTEGER REFERENCES gpu(id),   -- NULL: all, and the host
  number INTEGER,                   -- of the failed request, or of the iteration
  bytes INTEGER                     -- of the process on the GPU, as the report counts them
);

CREATE TRIGGER moment_by_time AFTER INSERT ON moment WHEN new.change IS NULL BEGIN
  UPDATE moment SET change = (SELECT coalesce(max(change), 0) FROM (
    SELECT birth AS change FROM allocation WHERE birth_ns <= new.ts_ns UNION ALL
    SELECT death FROM allocation WHERE death_ns <= new.ts_ns UNION ALL
    SELECT birth FROM block WHERE birth_ns <= new.ts_ns UNION ALL
    SELECT death FROM block WHERE death_ns <= new.ts_ns)) WHERE id = new.id;
END;

CREATE VIEW live_at AS              -- SELECT sum(bytes) FROM live_at WHERE moment = 7 AND place = 'gpu'
SELECT m.id AS moment, m.kind AS moment_kind, m.ts_ns, a.*
FROM moment m JOIN allocation a
  ON a.birth <= m.change AND (a.death IS NULL OR a.death > m.change)
  AND (m.process IS NULL OR a.process = m.process) AND (m.gpu IS NULL OR a.gpu = m.gpu);

CREATE VIEW blocks_at AS            -- the same for blocks
SELECT m.id AS moment, m.kind AS moment_kind, m.ts_ns, b.*
FROM moment m JOIN block b
  ON b.birth <= m.change AND (b.death IS NULL OR b.death > m.change)
  AND (m.process IS NULL OR b.process = m.process) AND (m.gpu IS NULL OR b.gpu = m.gpu);

CREATE VIEW peak AS                 -- the most that each process had on each GPU
SELECT m.id AS moment, p.id AS process, p.pid, p.command, g.id AS gpu, g.number AS gpu_number, m.ts_ns, m.bytes
FROM moment m JOIN process p ON p.id = m.process JOIN gpu g ON g.id = m.gpu WHERE m.kind = 'peak';

CREATE VIEW stack_text AS           -- a stack in words
SELECT s.id AS stack, s.owner, s.framework, s.torch_module,
  CASE WHEN f.id IS NULL THEN NULL
    WHEN f.line IS NULL THEN coalesce(f.function, f.module)
    ELSE replace(f.file, rtrim(f.file, replace(f.file, '/', '')), '') || ':' || f.line || ' ' || coalesce(f.function, '')
  END AS line,
  f.file, f.line AS line_number, f.function
FROM stack s LEFT JOIN frame f ON f.id = s.line;

CREATE VIEW held AS                 -- all that lived at a moment. Blocks lie in segments: do not add both up
SELECT moment, moment_kind, 'allocation' AS kind, process, gpu, bytes, stack, class AS category, is_segment, place FROM live_at
UNION ALL
SELECT b.moment, b.moment_kind, 'block', b.process, b.gpu, b.bytes, b.stack,
  CASE WHEN s.code_category = 'workspace' OR (s.code_category = 'parameter' AND b.category = 'kept')
    OR (s.code_category NOT NULL AND b.category = 'unknown') THEN s.code_category ELSE b.category END, 0, 'gpu'
FROM blocks_at b LEFT JOIN stack s ON s.id = b.stack;

-- Of all moments but marks and iterations, of which there may be very many. For each of these:
-- SELECT line, sum(bytes) FROM held JOIN stack_text USING (stack) WHERE moment = 7 AND kind = 'block' GROUP BY line

CREATE VIEW by_line AS              -- WHERE moment = 7 AND kind = 'block' ORDER BY bytes DESC
SELECT h.moment, h.kind, h.process, h.gpu, h.is_segment, t.line, sum(h.bytes) AS bytes, count(*) AS count
FROM held h LEFT JOIN stack_text t ON t.stack = h.stack WHERE h.moment_kind NOT IN ('mark', 'iteration')
GROUP BY h.moment, h.kind, h.process, h.gpu, h.is_segment, t.line;

CREATE VIEW by_category AS          -- of allocations: the class
SELECT moment, kind, process, gpu, is_segment, category, sum(bytes) AS bytes, count(*) AS count
FROM held WHERE moment_kind NOT IN ('mark', 'iteration')
GROUP BY moment, kind, process, gpu, is_segment, category;

CREATE VIEW by_owner AS
SELECT h.moment, h.kind, h.process, h.gpu, h.is_segment, s.owner, s.framework, sum(h.bytes) AS bytes, count(*) AS count
FROM held h LEFT JOIN stack s ON s.id = h.stack WHERE h.moment_kind NOT IN ('mark', 'iteration')
GROUP BY h.moment, h.kind, h.process, h.gpu, h.is_segment, s.owner, s.framework;
