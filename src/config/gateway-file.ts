import { totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'
import { parse } from 'smol-toml'
import { z } from 'zod'
import type { ApiKey } from '../domain/api-key.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Violation } from '../errors.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import { type InCamelCase, inCamelCase } from './camel-case.ts'
import { type CurationOptions, checkCuration, curationOptions, curationShape } from './curation.ts'
import { type GatewayIdentity, identityTable, readIdentity } from './identity.ts'
import { readKeyFile } from './key-file.ts'
import { withDescriptions } from './setting-descriptions.ts'
import { defaultTokens, readTokens } from './tokens.ts'
import { describeFailure, placeIn, unknownName, violations } from './toml-file.ts'
import { count, sourceName, text, upstreamEntry, upstreamOptions, whole } from './upstream-entry.ts'
import { expandVariables, type FileContext } from './variables.ts'
import { checkViews, keyViews, type ViewOptions, viewChoices, viewList, viewOptions } from './views.ts'
import { readVocabulary } from './vocabulary.ts'

const LISTING_SHAPE_MODES = ['off', 'warn', 'enforce'] as const
export type ListingShapeMode = (typeof LISTING_SHAPE_MODES)[number]

const MAX_UPSTREAMS = 1000

/** The tables of the file, with members in camel case. */
export type GatewayFile = Omit<
  InCamelCase<Document>,
  'cache' | 'curation' | 'gateway' | 'keys' | 'tokens' | 'upstreams' | 'views' | 'vocabulary'
> & {
  gateway: Omit<InCamelCase<Document['gateway']>, 'identity'>
  /** `null`: no upstream speaks the signed line. */
  identity: GatewayIdentity | null
  cache: { freshSeconds: number; maxBytes: number }
  /** Of the file, or else of `config/tokens.toml`. */
  tokens: TokenTable
  /** What models and places mean, with the operator's rows. */
  vocabulary: Vocabulary
  views: readonly ViewOptions[]
  keys: { trustSeconds: number; declared: readonly ApiKey[] }
  /** What is left out of every answer. */
  curation: CurationOptions
  /** In the order of the file, which is the order that readers see. */
  upstreams: readonly UpstreamOptions[]
}

/** Adds each problem to `problems`, with the file's path; then the result is the defaults. */
export function parseGatewayFile(text: string, { file, environment, problems }: FileContext): GatewayFile {
  const found: Violation[] = []
  const placeOf = (path: string): string => placeIn(file, text, path)
  const source = { file, environment, problems: found }
  const parsed = gatewayFile.safeParse(expandVariables(parseToml(text, found), source))
  if (parsed.success) checkAll(parsed.data, found)
  else {
    // An unset variable is reported already.
    const known = new Set(found.map(({ path }) => path))
    found.push(...violations(parsed.error, [], unknownSetting).filter(({ path }) => !known.has(path)))
  }
  const isGood = parsed.success && found.length === 0
  const document = isGood ? parsed.data : gatewayFile.parse({})
  const { gateway: general, keys, tokens, upstreams, views, curation, vocabulary: rows, ...tables } = document
  const { identity: entry, ...gateway } = general
  const identity = entry === undefined ? null : readIdentity(entry, dirname(file), found)
  const opened = upstreams.map((entry, n) =>
    upstreamOptions(entry, n, { ...source, hasIdentity: general.identity !== undefined }),
  )
  const entries = tokens?.map((entry, n) => ({ ...entry, path: `tokens[${n}]` }))
  const table = entries === undefined ? defaultTokens(problems) : readTokens(entries, found)
  const beside = (name: string | undefined): string | null =>
    name === undefined ? null : resolve(dirname(file), name)
  const vocabulary = readVocabulary({ gpus: beside(rows.gpus), places: beside(rows.places) }, problems)
  const keyFile = beside(keys.file)
  const declared = keyFile === null ? [] : readKeyFile(keyFile, keyViews(views), problems)
  for (const { path, message } of found) problems.push({ path: placeOf(path), message })
  const inCamel = { ...inCamelCase(tables), gateway: inCamelCase(gateway) }
  const { freshSeconds, maxBytes = defaultCacheBytes() } = inCamel.cache
  return {
    ...inCamel,
    identity,
    cache: { freshSeconds, maxBytes },
    tokens: table,
    vocabulary,
    keys: { trustSeconds: keys.trust_seconds, declared },
    views: viewOptions({ views }, placeOf),
    curation: curationOptions(curation, placeOf),
    upstreams: opened,
  }
}

/** Share of the memory that the process may use. A pull has the next listings beside those that are held. */
const CACHE_SHARE = 0.4

function defaultCacheBytes(): number {
  const limit = process.constrainedMemory()
  return Math.floor(CACHE_SHARE * Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY))
}

const token = z.strictObject({
  chain: z.unknown().optional(),
  address: z.unknown().optional(),
  mechanism: z.unknown().optional(),
  asset: z.unknown().optional(),
  symbol: z.unknown(),
  decimals: z.unknown(),
  testnet: z.unknown().optional(),
})

const table = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).prefault({} as never)

const gatewayFile = z.strictObject({
  gateway: table({
    id: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/, 'expected 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -')
      .default('entrepot'),
    budget_ms: count(4000, 1),
    schema: text.nullable().default(null),
    identity: identityTable.optional(),
  }),
  registry: table({
    name: sourceName.default('local'),
    enabled: z.boolean().default(true),
    listing_shape: z.enum(LISTING_SHAPE_MODES).default('warn'),
  }),
  access: table({
    plain: z.boolean().default(true),
    announce_private: z.boolean().default(false),
    ...viewChoices,
  }),
  views: viewList,
  curation: table(curationShape),
  // Shorter than a minute, a pause of the store would refuse keys.
  keys: table({ trust_seconds: count(300, 60), file: text.optional() }),
  cache: table({
    fresh_seconds: count(15),
    max_bytes: whole(0).optional(),
  }),
  limits: table({
    anonymous_per_minute: count(0),
    read_key_per_minute: count(0),
    publish_per_minute: count(300),
    principal_per_minute: count(0),
    listings_per_publisher: count(10_000),
    trusted_proxies: z
      .array(z.union([z.cidrv4(), z.cidrv6()], 'expected a CIDR such as 10.0.0.0/8'))
      .default([]),
  }),
  changes: table({
    retention_seconds: count(86_400, 1),
    max_watchers: count(1000),
    max_watchers_per_reader: count(20),
  }),
  audit: table({
    writes: z.boolean().default(false),
    retention_days: count(90, 1),
    max_bytes: count(67_108_864, 1_048_576),
  }),
  tokens: z.array(token).optional(),
  vocabulary: table({ gpus: text.optional(), places: text.optional() }),
  upstreams: z.array(upstreamEntry).max(MAX_UPSTREAMS).default([]),
})

/** For editors and tests of a configuration. What needs more than one member is checked by `parseGatewayFile` alone. */
export const gatewayFileSchema = (): object =>
  withDescriptions(z.toJSONSchema(gatewayFile, { target: 'draft-7', io: 'input', unrepresentable: 'any' }))

type Document = z.infer<typeof gatewayFile>

function parseToml(source: string, problems: Violation[]): unknown {
  try {
    return parse(source)
  } catch (cause) {
    problems.push({ path: '', message: describeFailure(cause) })
    return {}
  }
}

function unknownSetting(key: string, path: readonly PropertyKey[]): string {
  if (key === 'api_key') return 'unknown setting: the file holds no keys; use api_key_env or api_key_file'
  return unknownName(key, settingsAt(path))
}

function settingsAt([section]: readonly PropertyKey[]): string[] {
  if (section === 'upstreams') return Object.keys(upstreamEntry.shape)
  if (section === 'tokens') return Object.keys(token.shape)
  const { shape } = gatewayFile
  if (section === undefined) return Object.keys(shape)
  const inner = shape[section as keyof typeof shape]
  return inner instanceof z.ZodPrefault ? Object.keys(inner.unwrap().shape) : []
}

function checkAll(document: Document, problems: Violation[]): void {
  checkNames(document, problems)
  const { registry, upstreams } = document
  const own = registry.enabled ? [registry.name] : []
  const sources = [...own, ...upstreams.map(({ name }) => name)]
  checkViews(document, sources, problems)
  checkCuration(document.curation, sources, problems)
}

function checkNames({ registry, upstreams }: Document, problems: Violation[]): void {
  const taken = new Set(registry.enabled ? [registry.name] : [])
  for (const [n, { name, api_key_env, api_key_file }] of upstreams.entries()) {
    if (taken.has(name))
      problems.push({ path: `upstreams[${n}].name`, message: `two sources are named '${name}'; rename one` })
    if (api_key_env !== undefined && api_key_file !== undefined)
      problems.push({ path: `upstreams[${n}]`, message: 'has both api_key_env and api_key_file; keep one' })
    taken.add(name)
  }
  if (!registry.enabled && upstreams.length === 0)
    problems.push({
      path: 'registry.enabled',
      message: 'false without [[upstreams]] leaves nothing to serve; add one, or set it to true',
    })
}
