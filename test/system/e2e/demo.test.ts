import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'

/** Runs a program in a pseudo terminal, whose keys are this program's input, and exits with its code. */
const IN_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

async function startDemo(t: ExecutionContext) {
  const child = spawn('python3', ['-c', IN_TERMINAL, process.execPath, 'demo/demo.ts'], {
    env: { ...process.env, PORT: '0' },
  })
  t.teardown(() => child.kill())
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  const until = (words: RegExp): Promise<RegExpExecArray> =>
    eventually(
      `${words} on the terminal`,
      () => words.exec(shown),
      (found) => found !== null,
    ) as Promise<RegExpExecArray>
  return { child, until, press: (keys: string) => child.stdin.write(keys) }
}

test('demo: keys stop, start and slow Registries, add a hostile seller, and end every process', async (t) => {
  const { child, until, press } = await startDemo(t)
  await until(/Keys, each with what to look at/)
  const urlOf = async (name: string): Promise<string> =>
    (await until(new RegExp(`^ +${name} +(http\\S+)`, 'm')))[1]!
  const [gateway, open, near] = [
    await urlOf('gateway'),
    await urlOf('open-market'),
    await urlOf('co-located'),
  ]
  const totalOf = async (url: string): Promise<number> =>
    ((await (await fetch(`${url}/listings?limit=1`)).json()) as { total_after_filter: number })
      .total_after_filter
  const before = await totalOf(open)

  press('1')
  await until(/open-market is killed/)
  await t.throwsAsync(fetch(`${open}/live`))
  const facets = await eventually(
    'a copy',
    async () => (await (await fetch(`${gateway}/facets`)).json()) as { summary: string; complete: boolean },
    ({ summary }) => /open-market: copy/.test(summary),
  )
  t.true(facets.complete)
  press('h')
  await until(/open-market is not running, so a hostile seller cannot publish there: 1 starts it again/)
  press('1')
  await until(/open-market runs again/)
  t.is(await totalOf(open), before)

  press('h')
  await until(/hostile seller has published at open-market/)
  t.is(await totalOf(open), before + 3)

  press('s')
  await until(/co-located now answers after a second/)
  press('sx')
  await until(/co-located is fast again/)
  t.true((await fetch(`${near}/live`)).ok)

  const ended = once(child, 'exit')
  press('\u0003')
  t.deepEqual(await ended, [0, null])
  for (const url of [gateway, open, near]) await t.throwsAsync(fetch(`${url}/live`))
})

test('demo: a signal ends every process, and without a terminal no key is read', async (t) => {
  const child = spawn(process.execPath, ['demo/demo.ts'], { env: { ...process.env, PORT: '0' } })
  t.teardown(() => child.kill('SIGKILL'))
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  await eventually('the tour', () => shown.includes('Ctrl-C stops all'))
  t.notRegex(shown, /Keys, each/)
  child.stdin.write('1q')
  const [, open] = /^ +open-market +(http\S+)/m.exec(shown)!
  t.true((await fetch(`${open}/live`)).ok)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.deepEqual(await ended, [0, null])
  await t.throwsAsync(fetch(`${open}/live`))
})
