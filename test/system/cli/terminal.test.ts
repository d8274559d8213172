import { stripVTControlCharacters } from 'node:util'
import test from 'ava'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { renderTable } from '../../../src/cli/output/table.ts'
import { escrow } from '../../helpers/escrow.ts'
import { deadUrl, listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { startServer } from '../../helpers/fixed-answers.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { hasTerminal, runCli, runInTerminal, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, AS_ALICE, publish } from '../../helpers/seller.ts'

const withTerminal = hasTerminal ? test.serial : test.skip

/** Clears the screen, sets the title, turns text around, and speaks 8-bit escapes. */
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u202egpj\u009b31m'

const listing = (listing_id: string, offer_resource: object, value: string, per = 'hour'): string =>
  listingText({
    listing_id,
    offer_resource,
    accepted_escrows: [
      escrow(value, { chain: 'anvil', token: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0', per }),
    ],
  })

const offer = { gpu_model: `H100${HOSTILE}`, gpu_count: 2, region: 'Tokyo, JP 東京' }
const hostile = await startFakeRegistry({ items: [listing('hostile-1', offer, '16800000')] })
test.after.always(hostile.close)

/** Everything that a terminal was sent, less the sequences that this program means to send. */
const dangerous = (text: string): string[] =>
  text
    .replaceAll(/\u001b\[(?:2K|1A|1m|22m)/g, '')
    .match(/[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u202e]/g) ?? []

withTerminal('terminal: listings are a table that fits, with control characters escaped', async (t) => {
  const { code, stdout } = await runInTerminal(['listings', '-r', hostile.url], { columns: 80 })
  t.is(code, 0)
  t.deepEqual(dangerous(stdout), [])
  const lines = stripVTControlCharacters(stdout).split(/\r?\n/)
  const titles = lines.findIndex((line) => /PRICE/.test(line))
  t.regex(lines[titles + 1] ?? '', /8,400,000 units of 0x.*2 .*Tokyo/)
  t.true((lines[titles + 1] ?? '').length <= 80)
})

withTerminal('terminal: the log of a service is lines of text', async (t) => {
  const env = { STORE_URL: 'sqlite::memory:', PORT: '0', HOST: '127.0.0.1' }
  const end = { prompt: 'listening', text: '\u0003' }
  const { stdout } = await runInTerminal(['serve'], { env, type: end })
  t.deepEqual(dangerous(stdout), [])
  t.regex(stdout, /^\d\d:\d\d:\d\d info {3}listening {2}url="http:\/\/127\.0\.0\.1:\d+" .*upstreams=0/m)
  t.notRegex(stdout, /"level"/)
})

withTerminal('terminal: prices in one token differ at 80 columns, by their unit', async (t) => {
  const machine = listing('a', { gpu_model: 'H100', gpu_count: 2 }, '168000000000')
  const credits = listing('b', { service_name: 'weather' }, '168000000000', 'token')
  const fake = await startFakeRegistry({ items: [machine, credits] })
  t.teardown(fake.close)
  const { stdout } = await runInTerminal(['facets', '-r', fake.url], { columns: 80, env: { CI: '1' } })
  const rows = stdout.split(/\r?\n/).filter((line) => line.startsWith('units of 0x9fe4…a6e0/'))
  t.deepEqual(
    rows.map((line) => /^units of 0x9fe4…a6e0\/(\S+)/.exec(line)?.[1]).toSorted(),
    ['GPU·h', 'credit'],
    stdout,
  )
  t.true(rows.every((line) => line.length <= 80))
})

withTerminal('terminal: a spinner shows pending Registries, except with CI or NO_COLOR', async (t) => {
  const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] http/
  t.regex((await runInTerminal(['listings', '-r', hostile.url])).stdout, SPINNER)
  for (const env of [{ CI: 'true' }, { NO_COLOR: '1' }]) {
    const { stdout } = await runInTerminal(['listings', '-r', hostile.url], { env })
    t.notRegex(stdout, SPINNER)
    t.false(stdout.includes('\u001b'))
  }
})

withTerminal('terminal: the spinners of many Registries are no more than fit the screen', async (t) => {
  const urls = Array.from({ length: 40 }, (_, n) => `${hostile.url}/${n}`)
  const { stdout } = await runInTerminal(['listings', '-r', urls.join()])
  t.is(Math.max(...[...stdout.matchAll(/(?:\u001b\[1A\u001b\[2K\r)+/g)].map(([up]) => up.length / 9)), 23)
})

withTerminal('terminal: JSON keeps its value, with dangerous characters escaped', async (t) => {
  const { stdout } = await runInTerminal(['listings', '-r', hostile.url, '--json'], { env: { CI: '1' } })
  t.deepEqual(dangerous(stdout), [])
  const [shown] = JSON.parse(stdout.slice(stdout.indexOf('[\r\n')))
  t.is(shown.offer_resource.gpu_model, `H100${HOSTILE}`)
})

withTerminal('terminal: JSON of every command has dangerous characters escaped', async (t) => {
  const text = JSON.stringify(HOSTILE)
  const receipt = `{"listing_id":"x","status":"open","note":${text},"warnings":[{"path":"p","message":${text}}]}`
  const url = await startServer(t, {
    'POST /listings': [201, receipt],
    'PUT /listings/x': receipt.replace('open', 'closed'),
    'DELETE /listings/x': [409, `{"detail":${text}}`],
    'POST /api/v1/listings/validate-publish': `{"valid":false,"errors":[${text}]}`,
    'GET /sources': `{"sources":[{"registry":"a","state":"loaded","note":${text}}]}`,
    'GET /health': '{}',
    'GET /filter-spec': `{"schema":{"id":${text}}}`,
    'GET /listings?status=open&limit=1': '{"items":[],"count":0,"total_after_filter":0}',
    'POST /admin/api-keys': [201, `{"id":1,"key":${text}}`],
    'GET /admin/api-keys': `[{"id":1,"name":${text}}]`,
  })
  const file = temporaryFile(t, 'l.json', '{"listing_id":"x"}')
  const env = { CI: '1', ...AS_ALICE, REGISTRY_ADMIN_API_KEY: 'admin' }
  const selling = [`publish ${file}`, 'update x --status closed', 'delete x', `validate ${file}`]
  for (const words of [...selling, 'sources', 'doctor', 'keys mint alice', 'keys list']) {
    const { stdout } = await runInTerminal([...words.split(' '), '-r', url, '--json'], { env })
    t.deepEqual(dangerous(stdout), [], words)
    t.true(stdout.includes('\\u202egpj\\u009b31m'), words)
  }
  const registry = await startRegistry(t)
  const named = temporaryFile(t, 'named.json', `{"listing_id":${text}}`)
  const planning = ['sync', named, '-r', registry.url, '--dry-run', '--ndjson', '--as-is']
  const plan = await runInTerminal(planning, { env })
  t.deepEqual(dangerous(plan.stdout), [])
  t.regex(plan.stdout, /\\u202egpj\\u009b31m","action"/)
})

withTerminal('terminal: one listing is shown in full, as YAML', async (t) => {
  const { url } = await startRegistry(t)
  await publish(url, ALICE, {
    listing_id: 'x',
    offer_resource: { gpu_model: `L4${HOSTILE}`, nested: { deep: [1] } },
  })
  const { code, stdout } = await runInTerminal(['listing', 'x', '-r', url])
  t.is(code, 0)
  t.deepEqual(dangerous(stdout), [])
  const members = [
    /^listing_id: x\r?$/m,
    /^ +gpu_model: "L4\\e/m,
    /^ +deep:\r?\n +- 1\r?$/m,
    /^ +registry: http/m,
  ]
  for (const line of members) t.regex(stdout, line)
})

test.serial('pipe: stdout holds only data, to the byte, and no progress', async (t) => {
  const { stdout, stderr } = await runCli(['listings', '-r', hostile.url, '--ndjson'])
  t.is(JSON.parse(stdout).offer_resource.gpu_model, `H100${HOSTILE}`)
  t.notRegex(stderr, /[⠋⠙]|\u001b/)
})

withTerminal('sources: the table has the sources that gateways miss', async (t) => {
  const [gone, well] = [
    { name: 'gone', url: deadUrl() },
    { name: 'well', url: hostile.url },
  ]
  const eu = await startGateway(t, [gone, well], { more: '[gateway]\nid = "eu"\n' })
  const settings = 'kind = "gateway"\ntimeout_ms = 30000'
  const more = '[gateway]\nbudget_ms = 60000\n'
  const world = await startGateway(t, [{ name: 'eu', url: eu.url, settings }], { more })
  await world.get('/listings')
  const { code, stdout } = await runInTerminal(['sources', '-r', world.url])
  t.is(code, 0)
  t.regex(stdout, /\beu\/gone +unavailable +- +connection_refused/)
  t.regex(stdout, / eu +loaded +\d+ s/)
})

const cell = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/\p{Cc}/gu, ''))

test('table: no line exceeds the terminal unless all columns are at minimum width', async (t) => {
  const columns = [
    { title: 'A' },
    { title: 'B', align: 'right' },
    { title: 'C', minWidth: 6, keepsEnd: true },
  ] as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell)),
      fc.integer({ min: 18, max: 60 }),
      async (rows, width) => {
        const lines = await renderTable(columns, rows, width)
        t.is(lines.length, rows.length + 1)
        t.true(lines.every((line) => stringWidth(line) <= width))
      },
    ),
  )
})

test('table: columns are aligned with their titles, wide characters included', async (t) => {
  const [tokyo, x] = [
    ['東京', '7'],
    ['x', '12'],
  ]
  const lines = await renderTable([{ title: 'NAME' }, { title: 'N', align: 'right' }], [tokyo!, x!], null)
  t.deepEqual(lines, ['NAME   N', '東京   7', 'x     12'])
})
