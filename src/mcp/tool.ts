import { z } from 'zod'
import { LISTING_STATUSES } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import type { Sort } from '../domain/price/price-parameters.ts'
import { EntrepotError } from '../errors.ts'
import { writeSet } from '../filter-spec/literals.ts'
import type { Market } from '../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../gateway/market-query.ts'
import { readQuestion } from '../gateway/read-question.ts'
import { isDerivedName } from '../vocabulary/names.ts'
import type { FacetJson } from '../wire/facets.ts'
import { plainName, quoted } from './quoted.ts'

export type Tool<Input extends z.ZodRawShape = z.ZodRawShape> = {
  name: string
  description: string
  input: Input
  run: (market: Market, input: z.output<z.ZodObject<Input>>, request: MarketRequest) => Promise<ToolOutput>
}

export type ToolOutput = {
  /** Our words alone: completeness first, since clients may cut the end. */
  notice: string
  /** Lines that hold words of strangers, in quotes. */
  lines?: readonly string[]
  /** In place of lines; listings keep their own bytes. */
  json?: string
}

/** Erases the input type, which the list of tools does not need. */
export const defineTool = <Input extends z.ZodRawShape>(tool: Tool<Input>): Tool => tool as unknown as Tool

/** `full`: the exact JSON in place of lines. */
export const DETAIL = { detail: z.enum(['lines', 'full']).default('lines') }

/** The others are added to `other`: an agent reads few of a hundred. */
export function topValues({ values, other }: Pick<FacetJson, 'values' | 'other'>, most: number) {
  const cut = values.slice(most).reduce((sum, { count }) => sum + count, 0)
  return { values: values.slice(0, most), other: other + cut }
}

const MAX_FILTERS = 50
export const MAX_TEXT = 1000
const MAX_SOURCES = 100
const MAX_PRICE_TEXT = 128

/** Which listings a tool reads. */
export const MARKET_INPUT = {
  filters: z.record(z.string(), z.unknown()).default({}),
  status: z.enum([...LISTING_STATUSES, 'all']).default('open'),
  publisher: z.string().max(MAX_TEXT).optional(),
  sources: z.array(z.string().max(MAX_TEXT)).max(MAX_SOURCES).optional(),
  price_token: z.string().max(MAX_PRICE_TEXT).optional(),
  price_max: z.union([z.string(), z.number()]).optional(),
  testnet: z.boolean().optional(),
  price_per: z.enum(PRICE_PERS).optional(),
}

type MarketInput = z.output<z.ZodObject<typeof MARKET_INPUT>>

/** @throws EntrepotError `bad_request` */
export function marketQuery(
  { tokens }: Market,
  { filters, status, sources = [], testnet, price_max, ...texts }: MarketInput,
  { sort, ...door }: { sort?: Sort | undefined; countsPrices?: boolean; prefersCheapest?: boolean } = {},
): MarketQuery {
  return readQuestion(
    {
      ...texts,
      sort,
      status: status === 'all' ? '' : status,
      price_max: price_max === undefined ? price_max : String(price_max),
      testnet: testnet ? 'true' : undefined,
    },
    {
      filters: readFilters(filters),
      sources: sources.length === 0 ? null : sources,
      tokens,
      ...door,
    },
  )
}

function readFilters(filters: Readonly<Record<string, unknown>>): MarketQuery['filters'] {
  const entries = Object.entries(filters)
  if (entries.length > MAX_FILTERS)
    throw new EntrepotError('bad_request', `filters: at most ${MAX_FILTERS}, got ${entries.length}`)
  return entries.map(([name, value]) => [name, textOf(name, value)] as const)
}

/** An array is a set. @throws EntrepotError `bad_request` */
function textOf(name: string, value: unknown): string {
  const text = Array.isArray(value)
    ? writeSet(
        'in',
        value.map((one) => plainText(name, one)),
      )
    : plainText(name, value)
  if (name.length + text.length <= MAX_TEXT) return text
  throw new EntrepotError('bad_request', `filters: a filter has more than ${MAX_TEXT} characters`)
}

function plainText(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  const where = `filters.${name.slice(0, MAX_NAME)}`
  throw new EntrepotError(
    'bad_request',
    `${where}: expected a text, a number, true, false, or an array of these`,
  )
}

const MAX_NAME = 64

/** Values of what the tables of this gateway derive are ours; all others are words of strangers. */
export function renderValue(filter: string, value: string): string {
  const isOurs = isDerivedName(filter) || /^(?:-?\d+(?:\.\d+)?|true|false)$/.test(value)
  if (filter === 'registry') return plainName(value, MAX_VALUE)
  return isOurs && value.length <= MAX_VALUE ? value : quoted(value, MAX_VALUE)
}

const MAX_VALUE = 64

/** `5`, or `at least 5` while a source is not counted. */
export const renderCount = (count: string | number, isLeast: true | undefined): string =>
  isLeast === true ? `at least ${count}` : `${count}`

/** `"H200" 22, "H100" 18, 9 others`. A known value that was not seen is left out. */
export function renderValues(
  filter: string,
  facet: Pick<FacetJson, 'values' | 'other'>,
  most: number,
): string {
  const { values, other } = topValues(seen(facet), most)
  const shown = values.map(
    ({ value, count, at_least }) => `${renderValue(filter, value)} ${renderCount(count, at_least)}`,
  )
  return [...shown, ...(other === 0 ? [] : [`${other} others`])].join(', ')
}

export function seen<Facet extends Pick<FacetJson, 'values'>>(facet: Facet): Facet {
  return { ...facet, values: facet.values.filter(({ count }) => count > 0) }
}
