import fc from 'fast-check'
import { jsonObjectText, jsonText } from '../../helpers/json-text.ts'

/** One request as it is sent; `template` names the route it was made for, where it was made for one. */
export type FuzzRequest =
  | {
      kind: 'http'
      method: string
      path: string
      headers: Record<string, string>
      body: Buffer | null
      template: string | null
      /** Whether a signed success would be wrong. */
      mustFail?: boolean
    }
  | { kind: 'raw'; bytes: Buffer; mustFail?: undefined }

const AGENT = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** Messages of agents: valid, nearly valid, and others. */
export const agentRequests = (): fc.Arbitrary<FuzzRequest> =>
  message.map((json) => ({
    kind: 'http',
    method: 'POST',
    path: '/mcp',
    headers: AGENT,
    body: Buffer.from(json),
    template: '/mcp',
  }))

const TOOLS = [
  'search_listings',
  'get_listing',
  'market_overview',
  'describe_filters',
  'list_sources',
  'no_tool',
  '__proto__',
]
const METHODS = [
  'initialize',
  'tools/list',
  'tools/call',
  'ping',
  'notifications/cancelled',
  'resources/list',
  '',
]

const quoted = (...values: string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...values).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: jsonText() },
  )

type Members = Readonly<Record<string, fc.Arbitrary<string>>>

/** An object of these members, and of some of the `optional` ones. */
const objectOf = (optional: Members, members: Members = {}): fc.Arbitrary<string> =>
  fc
    .record({ ...members, ...optional }, { requiredKeys: Object.keys(members) })
    .map((all) => `{${Object.entries(all).map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`)

const filters = objectOf({
  gpu_model: quoted('H200', 'in:[a,b]', 'in:['),
  vcpu_count_min: quoted('64', '9'.repeat(400)),
  'strict.gpu_model': quoted('true', 'maybe'),
  __proto__: jsonText(),
  unknown: jsonText(),
})

const call = objectOf(
  {},
  {
    name: quoted(...TOOLS),
    arguments: fc.oneof(
      jsonObjectText(),
      objectOf({
        filters,
        status: quoted('open', 'all'),
        publisher: quoted('0x0'),
        sources: fc.oneof(fc.constant('["local"]'), jsonText()),
        by: fc.oneof(fc.constant('["gpu_model","registry"]'), jsonText()),
        sort: quoted('price'),
        price_token: quoted('USDC', 'base:USDC'),
        price_max: quoted('2.10', '1e3'),
        limit: fc.oneof(fc.constantFrom('1', '200', '201', '1.5', '9007199254740993', '-0'), jsonText()),
        cursor: quoted('x', 'x'.repeat(9000)),
      }),
      objectOf({ listing_id: quoted('a', 'c/d', '..', 'é🚀'), registry: quoted('local', 'local/x', '/') }),
    ),
  },
)

const message = objectOf(
  { id: fc.oneof({ weight: 8, arbitrary: fc.constant('1') }, jsonText()) },
  {
    jsonrpc: fc.oneof({ weight: 20, arbitrary: fc.constant('"2.0"') }, jsonText()),
    method: quoted(...METHODS, 'tools/call', 'tools/call', 'tools/call', 'tools/call'),
    params: fc.oneof({ weight: 8, arbitrary: call }, jsonText()),
  },
)
