import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { programPath } from '../../helpers/programs.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { startProcess } from '../../helpers/service-process.ts'

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
