import test, { type ExecutionContext } from 'ava'
import { createClient, ProblemError } from '../../../src/client/client.ts'
import { queryString, readView } from '../../../src/web/board/view.ts'
import { agentAt } from '../../helpers/agent.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { startScriptedFeed } from '../../helpers/scripted-feed.ts'

type Pairs = readonly (readonly [name: string, value: string])[]
/** Ids of what matches, or what is refused. The board warns of nothing. */
type Found = { ids: readonly string[]; warns?: boolean } | { refused: string }
type Door = (pairs: Pairs) => Promise<Found>

const KEY = `ed25519:${'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg'}`
const WALLET = `0x0f26${'ab'.repeat(16)}3d2a`

const offer = (listing_id: string, gpu_model: string, region: string, publisher = WALLET): string =>
  listingText({
    listing_id,
    offer_resource: { gpu_model, region, gpu_count: 1 },
    _meta: { registry: 'own', publisher },
  })

const ITEMS = [
  offer('a', 'H200', 'Frankfurt, DE'),
  offer('b', 'NVIDIA A100', 'Lyon, FR'),
  offer('c', 'L4', 'Oslo, NO', KEY),
  offer('d', 'RTX 4090', 'Brazzaville, CG', KEY),
]

/** The doors of a gateway over one upstream gateway. */
async function openDoors(t: ExecutionContext): Promise<Record<string, Door>> {
  const fake = await startFake(t, { items: ITEMS, kind: 'gateway' })
  const gateway = await startPatientGateway(t, [{ name: 'eu', url: fake.url, settings: 'kind = "gateway"' }])
  const { url, get } = gateway
  const agent = await agentAt(t, url)
  const client = createClient({ url })
  const queryOf = (pairs: Pairs) => new URLSearchParams(pairs.map(([...pair]) => pair))
  const readPage = async (query: string) => {
    const { items, detail, warnings } = (await get(`/listings?${query}`)).json()
    if (items === undefined) return { refused: String(detail) }
    return { ids: idsOf(items as never), warns: warnings !== undefined }
  }
  const idsOf = (listings: readonly { listing_id: string }[]) => listings.map((one) => one.listing_id).sort()
  return {
    HTTP: (pairs) => readPage(`${queryOf(pairs)}`),
    board: async (pairs) => {
      const { query } = readView(new URL(`${url}/?${queryOf(pairs)}`))
      const { warns: _, ...found } = { warns: null, ...(await readPage(queryString(query))) }
      return found
    },
    NDJSON: async (pairs) => {
      const { status, text } = await get(`/listings?${queryOf(pairs)}`, { accept: 'application/x-ndjson' })
      if (status !== 200) return { refused: JSON.parse(text).detail }
      const lines = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      return { ids: idsOf(lines.slice(0, -1)), warns: lines.at(-1)._meta.warnings !== undefined }
    },
    MCP: async (pairs) => {
      const { publisher, ...filters } = Object.fromEntries(
        [...Map.groupBy(pairs, ([name]) => name)].map(([name, repeats]) => {
          const values = repeats.map(([, value]) => value)
          return [name, values.length === 1 ? values[0] : values]
        }),
      )
      const answer = await agent.read('search_listings', { ...(publisher && { publisher }), filters })
      if (answer.isError) return { refused: answer.text.replace(/^Not answered: /, '').replace(/\.$/, '') }
      return { ids: idsOf(answer.value.items), warns: false }
    },
    watch: async (pairs) => {
      const feed = await startScriptedFeed(t, [{ status: 401, body: { detail: 'no' } }])
      const { stderr } = await runCli(['watch', '-r', feed.url, ...argsOf(pairs)])
      const [asked] = feed.asked
      if (asked === undefined) return { refused: stderr.replace(/^entrepot: /, '').trim() }
      const { search } = new URL(asked, feed.url)
      const followed = await get(`/changes${search}`)
      if (followed.status !== 200) return { refused: String(followed.json().detail) }
      return { ...(await readPage(search.slice(1))), warns: stderr.includes('given twice') }
    },
    'command line': async (pairs) => {
      const { code, stdout, stderr } = await runCli(['listings', '-r', url, '--json', ...argsOf(pairs)])
      if (code !== 0) return { refused: stderr.replace(/^entrepot: /, '').trim() }
      return { ids: idsOf(JSON.parse(stdout)), warns: stderr.includes('given twice') }
    },
    library: async (pairs) => {
      try {
        const found = await Array.fromAsync(client.listings(joined(pairs)))
        return { ids: idsOf(found), warns: false }
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error
        return { refused: error.detail }
      }
    },
  }
}

const OPTIONS = new Set(['gpu', 'country', 'continent', 'publisher'])

const argsOf = (pairs: Pairs): string[] =>
  pairs.flatMap(([name, value]) =>
    OPTIONS.has(name) ? [`--${name}`, value] : ['--filter', `${name}=${value}`],
  )

/** An object has a name once. */
const joined = (pairs: Pairs): Record<string, string> =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([name]) => name)].map(([name, repeats]) => [
      name,
      repeats.map(([, value]) => value).join(),
    ]),
  )

const QUESTIONS: readonly {
  title: string
  pairs: Pairs
  ids?: readonly string[]
  refused?: RegExp
  warns?: boolean
  /** Doors where the same question is written in another way. */
  but?: readonly string[]
}[] = [
  {
    title: 'repeats are a set',
    pairs: [
      ['gpu', 'H200'],
      ['gpu', 'a100'],
    ],
    ids: ['a', 'b'],
  },
  { title: 'commas are a set', pairs: [['gpu', 'h200, A100']], ids: ['a', 'b'] },
  {
    title: 'both',
    pairs: [
      ['country', 'DE,FR'],
      ['country', 'Norway'],
    ],
    ids: ['a', 'b', 'c'],
  },
  { title: 'a name with a comma is one value', pairs: [['country', 'Congo, Republic']], ids: ['d'] },
  {
    title: 'sets join',
    pairs: [
      ['country', 'in:[DE]'],
      ['country', 'Congo, Republic'],
    ],
    ids: ['a', 'd'],
    but: ['MCP', 'library'],
  },
  {
    title: 'sets that exclude join',
    pairs: [
      ['country', 'not_in:[DE]'],
      ['country', 'not_in:[FR]'],
    ],
    ids: ['c', 'd'],
    but: ['MCP', 'library'],
  },
  {
    title: 'what is no set is refused',
    pairs: [
      ['country', 'DE'],
      ['country', 'not_in:[FR]'],
    ],
    refused: /^country: given 2 times, which is no set: 'DE', 'not_in:\[FR\]'$/,
    but: ['MCP', 'library'],
  },
  {
    title: 'two least values are no set',
    pairs: [
      ['gpu_memory_gb_min', '80'],
      ['gpu_memory_gb_min', '40'],
    ],
    refused: /^gpu_memory_gb_min: given 2 times, which is no set: '80', '40'$/,
    but: ['MCP', 'library'],
  },
  {
    title: 'an unknown value of a list',
    pairs: [['gpu', 'H200,Z9000']],
    refused: /^gpu: 'Z9000' is not a known value/,
  },
  {
    title: 'the last one of a filter of the filter spec counts, with a warning',
    pairs: [
      ['gpu_model', 'H200'],
      ['gpu_model', 'L4'],
    ],
    ids: ['c'],
    warns: true,
    but: ['MCP', 'library'],
  },
  { title: 'a comma of such a filter is text', pairs: [['region', 'Oslo, NO']], ids: ['c'] },
  { title: 'a publisher is found by a key of Ed25519', pairs: [['publisher', KEY]], ids: ['c', 'd'] },
  {
    title: 'a publisher is found by an address in any case',
    pairs: [['publisher', WALLET.toUpperCase()]],
    ids: ['a', 'b'],
  },
  {
    title: 'a publisher is a whole address',
    pairs: [['publisher', '0x0f26']],
    refused:
      /publisher must be an address, 0x and 40 hex digits, or ed25519: and a public key, not '0x0f26'$/,
    but: ['HTTP', 'NDJSON', 'board', 'library'],
  },
]

test('questions: every door reads one question alike', async (t) => {
  const doors = await openDoors(t)
  for (const { title, pairs, ids, refused, warns = false, but = [] } of QUESTIONS)
    for (const [name, ask] of Object.entries(doors)) {
      if (but.includes(name)) continue
      const found = await ask(pairs)
      if (ids !== undefined) t.deepEqual({ warns, ...found }, { ids, warns }, `${name}: ${title}`)
      else t.regex('refused' in found ? found.refused : 'not refused', refused!, `${name}: ${title}`)
    }
})

test('questions: the beginning of an address is answered over HTTP with the addresses that begin so', async (t) => {
  const fake = await startFake(t, { items: ITEMS, publishers: [[1, WALLET]] })
  const gateway = await startPatientGateway(t, [{ name: 'eu', url: fake.url }])
  for (const text of ['0x0f26', '0X0F26', '0x0f26…3d2a', '0x0f26...3d2a']) {
    const { total_after_filter, suggestions, detail } = (
      await gateway.get(`/listings?gpu=A100&publisher=${encodeURIComponent(text)}`)
    ).json()
    t.is(detail, undefined)
    t.deepEqual([total_after_filter, suggestions], [0, [{ query: { publisher: WALLET }, total: 1 }]], text)
  }
  for (const text of ['0x0f26…9999', '0x0', WALLET.replace('a', 'b')])
    t.is(
      (await gateway.get(`/listings?publisher=${encodeURIComponent(text)}`)).json().suggestions,
      undefined,
      text,
    )
})
