import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test from 'ava'
import { escrow } from '../../helpers/escrow.ts'
import { listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { BIN, runCli, temporaryFile } from '../../helpers/run-cli.ts'

const machine = (id: string, gpus: number, region: string, value: string | null, day: number): string =>
  listingText({
    listing_id: id,
    offer_resource: { gpu_model: 'H100', gpu_count: gpus, region },
    accepted_escrows: value === null ? [] : [escrow(value)],
    created_at: `2026-11-${day}T00:00:00`,
  }).replace(`"gpu_count":${gpus}`, `"gpu_count":${gpus}.0`)

const one = await startFakeRegistry({
  items: [
    machine('dear', 8, 'California, US', '900000000000000000000', 14),
    machine('free', 8, 'Paris, FR', null, 12),
  ],
})
const two = await startFakeRegistry({
  items: [machine('cheap', 4, 'Tokyo, JP', '70', 13), machine('small', 1, 'Oslo, NO', '60', 11)],
})
test.after.always(async () => {
  await one.close()
  await two.close()
})

async function withPolicy(...args: string[]) {
  const list = ['listings', '-r', `${one.url},${two.url}`, '--ndjson']
  const { code, stdout, stderr } = await runCli([...list, ...args])
  const lines = stdout.split('\n').filter((line) => line !== '')
  return { code, stderr, stdout, ids: lines.map((line) => JSON.parse(line).listing_id) }
}

test.serial(
  'policy: built-in policies and the examples order the merged listings, whose bytes they keep',
  async (t) => {
    for (const [args, ids] of [
      [
        ['--policy', 'cheapest'],
        ['cheap', 'small', 'dear', 'free'],
      ],
      [
        ['--policy', 'newest'],
        ['dear', 'cheap', 'free', 'small'],
      ],
      [
        ['--policy', 'registry-order'],
        ['dear', 'free', 'cheap', 'small'],
      ],
      [
        ['--policy', 'docs/examples/big-machines-near-me.ts'],
        ['cheap', 'dear', 'free'],
      ],
      [
        ['--policy-cmd', 'python3 docs/examples/cheapest_per_gpu.py'],
        ['cheap', 'small', 'dear', 'free'],
      ],
    ] as const) {
      const run = await withPolicy(...args)
      t.deepEqual(run.ids, ids)
      t.true(run.stdout.includes('"gpu_count":8.0'))
    }
  },
)

test.serial('policy: may drop, change and add listings; its own prints are not data', async (t) => {
  const file = temporaryFile(
    t,
    'policy.mjs',
    'export default async ([first]) => { console.log("chatter"); return [{ ...first, listing_id: "mine" }, first] }',
  )
  const { ids, stdout, stderr } = await withPolicy('--policy', file)
  t.deepEqual(ids, ['mine', 'dear'])
  t.false(stdout.includes('chatter'))
  t.true(stderr.includes('chatter'))
})

test.serial('policy: reads what models and places mean', async (t) => {
  const text = `export default (rows) => rows.filter(({ _meta: { gpu, place } }) => gpu.memory_gb === 80 && place.continent === 'EU')`
  const { ids } = await withPolicy('--policy', temporaryFile(t, 'policy.mjs', text))
  t.deepEqual(ids, ['free', 'small'])
})

test.serial('policy: control characters on its stderr are escaped', async (t) => {
  const noise = '\\u001b[2J\\u0007\\u009b31m\\u202e'
  const module = `export default (array) => { console.log("${noise}"); console.error("${noise} 東京"); return array }`
  const command = `node -e 'console.error("${noise} 東京"); process.stdin.pipe(process.stdout)'`
  for (const [option, policy] of [
    ['--policy', temporaryFile(t, 'noisy.mjs', module)],
    ['--policy-cmd', command],
  ] as const) {
    const { code, stderr } = await withPolicy(option, policy)
    t.is(code, 0)
    t.true(stderr.includes('\\u001b[2J\\u0007\\u009b31m\\u202e 東京\n'), stderr)
    t.notRegex(stderr, /[\u001b\u0007\u009b\u202e]/)
  }
})

test.serial('policy: does not inherit the secrets of this program', async (t) => {
  const secrets = {
    ENTREPOT_PRIVATE_KEY: 'secret-1',
    REGISTRY_ADMIN_API_KEY: 'secret-2',
    REGISTRY_BOOTSTRAP_API_KEY: 'secret-3',
    STORE_URL: 'redis://:secret-4@127.0.0.1',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-5',
  }
  const module = 'export default (array) => { console.log(JSON.stringify(process.env)); return array }'
  for (const [option, policy] of [
    ['--policy', temporaryFile(t, 'curious.mjs', module)],
    ['--policy-cmd', 'env >&2; cat'],
  ] as const) {
    const args = ['listings', '-r', one.url, '--ndjson', option, policy]
    const run = await runCli(args, { env: { ...secrets, MY_OWN: 'kept' } })
    t.is(run.code, 0)
    t.regex(run.stderr, /MY_OWN.*kept/)
    t.notRegex(run.stderr, /secret-/)
  }
})

test.serial('policy: a background process that keeps stdout open does not fail it', async (t) => {
  const { code, ids } = await withPolicy('--policy-cmd', 'sleep 600 & cat', '--policy-timeout', '60')
  t.deepEqual([code, ids.length], [0, 4])
})

test.serial('policy: a program ends with the command that is interrupted', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const program = `'${process.execPath}' -e 'require("net").connect(${port}, "127.0.0.1")'`
  const args = [BIN, 'listings', '-r', one.url, '--policy-cmd', program, '--policy-timeout', '60']
  const command = spawn(process.execPath, args, { env: { HOME: '/nonexistent' } })
  const [socket] = (await once(server, 'connection')) as [Socket]
  const ended = once(socket, 'close')
  socket.on('error', () => {}).resume()
  command.kill('SIGINT')
  t.deepEqual(await once(command, 'exit'), [null, 'SIGINT'])
  await ended
})

test.serial('policy: a failing, hanging or malformed policy ends the command without data', async (t) => {
  const file = (name: string, text: string) => temporaryFile(t, name, text)
  const cases: [option: string, policy: string, message: RegExp][] = [
    ['--policy', file('loop.mjs', 'export default () => { for (;;); }'), /longer than 300 ms/],
    ['--policy-cmd', 'sleep 30', /longer than 300 ms/],
    ['--policy-cmd', 'exit 7', /exit code 7/],
    ['--policy-cmd', 'echo {}', /did not return an array/],
    ['--policy', file('wrong.mjs', 'export default\n(x) => { two words }'), /wrong\.mjs:2 failed: Unexp/],
    ['--policy', file('wrong.ts', '\nexport default (x: any) => x.a.b'), /wrong\.ts:2 failed: Cannot/],
    ['--policy', 'no-such-policy', /cheapest, newest, registry-order/],
  ]
  for (const [option, policy, message] of cases) {
    const limit = message.source.startsWith('longer') ? ['--policy-timeout', '0.3'] : []
    const { code, stdout, stderr } = await withPolicy(option, policy, ...limit)
    t.deepEqual([code, stdout], [1, ''], policy)
    t.regex(stderr, message)
  }
})
