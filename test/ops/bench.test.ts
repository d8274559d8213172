import { spawnSync } from 'node:child_process'
import test from 'ava'

test('bench: a benchmark without its programs is skipped with a line', (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/bench.ts', 'mixed'], {
    encoding: 'utf8',
    env: { PATH: '/nowhere' },
  })
  t.deepEqual([status, stderr], [0, ''])
  t.regex(stdout, /^mixed: .*\n\nskipped: needs wrk \(apt-get install wrk\)$/m)
})
