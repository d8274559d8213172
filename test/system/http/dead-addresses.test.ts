import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type LookupFunction } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { createAgent } from '../../../src/upstream/http/agent.ts'
import { createGet } from '../../../src/upstream/http/request.ts'
import { composeRequests } from '../../../src/upstream/interceptors/compose.ts'
import { startFake } from '../../helpers/gateway.ts'
import { programPath } from '../../helpers/programs.ts'
import { upstreamOptions } from '../../helpers/upstream.ts'

/** Listens and accepts nothing: what connects waits once the queue is full. */
const SILENT = `
import socket, sys
servers = [socket.create_server((host, int(sys.argv[1])), backlog=0) for host in sys.argv[2:]]
print("listening", flush=True)
sys.stdin.read()`

/** Addresses at the port that answer no connection. */
async function startSilent(t: ExecutionContext, port: string, hosts: readonly string[]): Promise<void> {
  const child = spawn(programPath('python'), ['-c', SILENT, port, ...hosts], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  await once(child.stdout, 'data')
  for (const host of hosts) {
    const filler = connect({ host, port: Number(port) }).on('error', () => {})
    t.teardown(() => filler.destroy())
    await once(filler, 'connect')
  }
}

for (const [silent, tries] of [
  [3, 1],
  [9, 4],
] as const)
  test(`a name is reached behind ${silent} addresses that do not answer, in ${tries} connections at most`, async (t) => {
    const fake = await startFake(t)
    const { port } = new URL(fake.url)
    const dead = Array.from({ length: silent }, (_, n) => `127.0.0.${n + 2}`)
    await startSilent(t, port, dead)
    const all = [...dead, '127.0.0.1'].map((address) => ({ address, family: 4 }))
    const lookup: LookupFunction = (_host, _options, callback) => callback(null, all)
    const options = upstreamOptions({ url: `http://up.example:${port}`, connectTimeoutMs: 1000 })
    const agent = createAgent(options, lookup)
    t.teardown(() => agent.destroy())
    const get = () => createGet(options, composeRequests(agent))('/listings', { maxBytes: 2 ** 20 })
    let status: number | null = null
    for (let n = 0; n < tries && status === null; n++)
      status = await get().then(
        (answer) => answer.status,
        () => null,
      )
    t.is(status, 200)
  })
