import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import test from 'ava'
import { EXIT } from '../../../src/cli/exit-codes.ts'
import { eventually } from '../../helpers/eventually.ts'
import { programPath } from '../../helpers/programs.ts'
import { temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'
import { startProcess } from '../../helpers/service-process.ts'

const run = promisify(execFile)
const UNIT = 'deploy/systemd/entrepot.service'

/** What `systemd-analyze verify` complains about. */
async function complaints(t: { teardown: (clean: () => void) => void }, text: string): Promise<string> {
  const file = temporaryFile(t, 'entrepot.service', text)
  return run(programPath('systemd'), ['verify', '--man=no', file]).then(
    ({ stderr }) => stderr,
    ({ stderr }: { stderr: string }) => stderr,
  )
}

test('systemd: the unit is valid, and a misspelt setting is not', async (t) => {
  const text = readFileSync(UNIT, 'utf8')
  t.is(await complaints(t, text), '')
  t.regex(await complaints(t, text.replace('Restart=', 'Restrat=')), /Restrat/)
})

/** Listens where systemd does, and writes what it receives, line by line. */
const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('bound', flush=True)
while True:
    print(receiver.recv(4096).decode().strip(), flush=True)
`

test('systemd: it receives that the service listens, and that it stops', async (t) => {
  programPath('systemd')
  const socket = join(temporaryFolder(t), 'notify')
  const receiver = spawn(programPath('python'), ['-c', RECEIVER, socket])
  t.teardown(() => receiver.kill('SIGKILL'))
  const lines: string[] = []
  createInterface(receiver.stdout).on('line', (line) => lines.push(line))
  const received = (what: string) => eventually(what, () => lines.includes(what))
  await received('bound')
  const { end } = await startProcess('sqlite::memory:', { NOTIFY_SOCKET: socket })
  await received('READY=1')
  t.false(lines.includes('STOPPING=1'))
  t.is(await end('SIGTERM'), 0)
  await received('STOPPING=1')
})

test('systemd: a wrong configuration is not started again, and a drain has its time', (t) => {
  const text = readFileSync(UNIT, 'utf8')
  t.true(text.includes(`RestartPreventExitStatus=${EXIT.badConfig}`))
  t.true(text.includes('TimeoutStopSec=15'))
})
