import { type Asking, ask, type Page, pageOf, parametersOf, Refused, send, type WirePage } from './ask.ts'
import type { FoundCounts } from './facets.ts'
import { type Counts, type Question, wholeTokens } from './model.ts'

const FACETS = ['gpu_model', 'region', 'registry'] as const

export async function askFacets(asking: Asking, question: Question): Promise<FoundCounts> {
  const target = `/facets?${parametersOf({ ...question, isByPrice: false })}&by=${FACETS.join(',')}`
  const { times, body } = await ask(asking, target)
  return { ...times, asked: `GET ${target}`, question, ...readCounts(JSON.parse(body)) }
}

/** The same counts by the agents' tool. */
export async function askOverview(asking: Asking, question: Question): Promise<FoundCounts> {
  const begin = asking.now()
  const answer = await callTool(asking, 'market_overview', { ...argumentsOf(question), by: FACETS })
  const asked = `market_overview ${parametersOf(question)}`
  return { begin, end: asking.now(), asked, question, ...readCounts(answer as WireFacets) }
}

/** One page of the agents' tool; `cursor` continues an earlier one. */
export async function askSearch(
  asking: Asking,
  question: Question,
  limit: number,
  cursor: string | null,
): Promise<Page> {
  const begin = asking.now()
  const sort = question.isByPrice ? 'price' : 'newest'
  const paging = { limit, sort, ...(cursor !== null && { cursor }) }
  const answer = await callTool(asking, 'search_listings', { ...argumentsOf(question), ...paging })
  return pageOf({ begin, end: asking.now() }, answer as WirePage)
}

function argumentsOf(question: Question): Record<string, unknown> {
  const { status, publisher, gpuModel, gpuCountMin, region, priceMax, isByPrice, sources } = question
  return {
    status: status ?? 'all',
    ...(publisher !== null && { publisher }),
    filters: {
      ...(gpuModel !== null && { gpu_model: gpuModel }),
      ...(gpuCountMin !== null && { gpu_count_min: gpuCountMin }),
      ...(region !== null && { region }),
    },
    ...(sources !== null && { sources }),
    ...(priceMax !== null && { price_max: wholeTokens(priceMax) }),
    ...((isByPrice || priceMax !== null) && { price_token: 'USDC' }),
  }
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** The JSON of a tool's result. @throws Refused */
async function callTool({ url }: Asking, name: string, input: object): Promise<object> {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { ...input, detail: 'full' } },
  }
  const { status, body } = await send(`${url}/mcp`, HEADERS, JSON.stringify(message))
  const result = status === 200 ? JSON.parse(body).result : undefined
  if (result?.isError !== undefined && result.isError !== false)
    throw new Refused(`${name} ${JSON.stringify(input)} is an error: ${body.slice(0, 2000)}`)
  const [, json] = result?.content ?? []
  if (json === undefined)
    throw new Refused(`${name} ${JSON.stringify(input)} is answered ${status}: ${body.slice(0, 2000)}`)
  return JSON.parse(json.text)
}

type WireFacets = Pick<FoundCounts, 'sources'> & {
  complete?: boolean
  total: number
  /** Absent from a 503. */
  facets?: Record<string, { values: { value: string; count: number }[] }>
  prices: NonNullable<Counts['prices']>[]
  outliers: number
}

function readCounts({ total, facets, prices, outliers, complete = false, sources }: WireFacets) {
  if (facets === undefined) return { complete, sources, outliers, counts: null }
  const valuesOf = (name: (typeof FACETS)[number]): Record<string, number> =>
    Object.fromEntries(facets[name]!.values.map(({ value, count }) => [value, count]))
  const { offers, gpus, least, median, most } = prices?.[0] ?? {}
  const range = offers === undefined ? null : { offers, gpus, least, median, most }
  const counts = {
    total,
    gpu_model: valuesOf('gpu_model'),
    region: valuesOf('region'),
    registry: valuesOf('registry'),
    prices: range as Counts['prices'],
  }
  return { complete, sources, outliers, counts }
}
