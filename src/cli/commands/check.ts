import { Option } from 'commander'
import { type Config, loadConfig } from '../../config/config.ts'
import { serviceUrl } from '../../config/settings.ts'
import { keyViews } from '../../config/views.ts'
import { describeRanking, openStoreProblem } from '../../config/warnings.ts'
import { plural } from '../../domain/plural.ts'
import type { StandingFilter } from '../../domain/query.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { ConfigError, EntrepotError } from '../../errors.ts'
import { allowedValues, describeUnknownValues } from '../../filter-spec/allowed-values.ts'
import type { Criterion, Filter, FilterSpec } from '../../filter-spec/filter.ts'
import { readFilterSpec } from '../../filter-spec/load.ts'
import { sendableFilters, specWarnings } from '../../filter-spec/parameters.ts'
import type { UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import { onlyOf } from '../../gateway/rules.ts'
import { standingFilter } from '../../gateway/standing-filter.ts'
import { type JsonValue, listAt, textAt } from '../../json/value.ts'
import { type ReloadResultJson, reloadResultSchema } from '../../wire/fleet.ts'
import { type CommandContext, type CommandDefinition, JSON_OPTION, type StoreCheck } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import {
  describeErrorResponse,
  describeSourceError,
  endpointUrl,
  getEndpoint,
  type RegistryClient,
  readJsonObject,
} from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import { type Finding, printFindings, visitRegistry } from './doctor.ts'

/** Exits with 78 if the start would fail, or an upstream refuses its key. One that does not answer is a warning. */
type CheckOptions = { json?: boolean; offline?: boolean; strict?: boolean; diff?: boolean }

export const checkCommand: CommandDefinition<CheckOptions> = {
  summary: 'check what `serve` would use: its files, secrets, store and upstreams; for operators',
  define: (command) =>
    command
      .option('--offline', 'only files and settings: neither the store nor an upstream is asked')
      .option('--strict', 'exit with 78 for a warning, too: for tests of a configuration')
      .addOption(
        new Option(
          '--diff',
          'only ask the running service, at HOST and PORT, what a reload would change',
        ).conflicts(['offline']),
      )
      .option(...JSON_OPTION),
  example: 'ENTREPOT_CONFIG=gateway.toml entrepot check',
  async run({ terminal, openClient, services }, { json, offline, strict, diff }) {
    const findings = await findAll(async () => {
      const config = loadConfig(terminal.env)
      if (diff) return [await previewReload(await openClient(), config)]
      if (offline) return checkFiles(config)
      const [anywhere, publicOnly] = await Promise.all([
        openClient(),
        openClient({ allowPrivateAddresses: false }),
      ])
      const parts = await Promise.all([
        findAll(async () => checkFiles(config)),
        findAll(() => checkStore(config, services)),
        ...config.upstreams.map((upstream) =>
          checkUpstream(upstream.allowPrivateAddresses ? anywhere : publicOnly, upstream, config),
        ),
      ])
      return parts.flat()
    })
    await printFindings(terminal, json, findings)
    const isBad = ({ state }: Finding): boolean =>
      state === 'wrong' || (strict === true && state === 'warning')
    return findings.some(isBad) ? EXIT.badConfig : EXIT.ok
  },
}

const PREVIEW_TIMEOUT_MS = 10_000

/** Asks the service that runs with this configuration, or with an earlier one. */
async function previewReload(client: RegistryClient, { host, port, adminKey }: Config): Promise<Finding> {
  const url = serviceUrl(ANY_ADDRESS.includes(host) ? '127.0.0.1' : host, port)
  if (adminKey === null) return finding('wrong', 'REGISTRY_ADMIN_API_KEY', 'not set; --diff asks with it')
  const request = { method: 'GET', url: endpointUrl({ url }, '/admin/reload'), key: adminKey } as const
  try {
    const response = await client.send({ ...request, timeoutMs: PREVIEW_TIMEOUT_MS })
    if (response.status !== 200) return finding('wrong', url, describeErrorResponse(response))
    const parsed = reloadResultSchema.safeParse(readJsonObject(response))
    return parsed.success
      ? finding('ok', url, `a reload ${describeChanges(parsed.data)}`)
      : finding('wrong', url, 'GET /admin/reload: not the answer of a service')
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return finding(
      'wrong',
      url,
      `${describeSourceError(cause).replace(`${url}: `, '')}; is the service running?`,
    )
  }
}

/** Addresses of every interface, at one of which the service answers. */
const ANY_ADDRESS = ['0.0.0.0', '::']

function describeChanges({ upstreams, changed, restart_needed }: ReloadResultJson): string {
  const parts = [
    ['adds', upstreams.added],
    ['removes', upstreams.removed],
    ['changes', [...upstreams.changed, ...changed]],
    ['needs a restart for', restart_needed],
  ] as const
  const words = parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.join(', ')}`)
  return words.length === 0 ? 'changes nothing' : words.join('; ')
}

/** Problems of the configuration are findings. */
async function findAll(check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check()
  } catch (cause) {
    if (cause instanceof EntrepotError) return [finding('wrong', 'STORE_URL', cause.message)]
    if (!(cause instanceof ConfigError)) throw cause
    return cause.problems.map(({ path, message }) => finding('wrong', path, message))
  }
}

function finding(state: Finding['state'], subject: string, text: string): Finding {
  return { subject, state, finding: text }
}

function checkFiles(config: Config): Finding[] {
  const { configPath, filterSpecPath, warnings, tokens, upstreams } = config
  const spec = readFilterSpec(filterSpecPath)
  const { filters, schema } = spec
  const configured = `${plural(upstreams.length, 'upstream')}, ${plural(tokens.all.length, 'token')}`
  const declared = `${plural(filters.size, 'filter')}, schema ${schema?.id ?? 'not declared'}`
  return [
    finding('ok', configPath, configured),
    ...(upstreams.length === 0 ? [] : [finding('ok', 'sources, the best first', describeRanking(config))]),
    finding('ok', filterSpecPath, declared),
    ...[...specWarnings(spec, filterSpecPath), ...warnings].map(({ path, message }) =>
      finding('warning', path, message),
    ),
    ...vainFilters(config, spec),
  ]
}

async function checkStore(config: Config, services: CommandContext['services']): Promise<Finding[]> {
  const subject = redactCredentials(config.storeUrl)
  const { warnings, keys } = await services.checkStore(config.storeUrl)
  const problem = openStoreProblem(config, keys.length)
  const doubts = [...warnings, ...lostViews(config, keys)].map((warning) =>
    finding('warning', subject, warning),
  )
  if (problem !== null)
    return [finding(config.setsGates ? 'warning' : 'wrong', problem.path, problem.message), ...doubts]
  return doubts.length === 0 ? [finding('ok', subject, 'can be used')] : doubts
}

/** Of keys whose view is not in the file. */
function lostViews({ views }: Config, keys: StoreCheck['keys']): string[] {
  const known = keyViews(views)
  return keys.flatMap(({ name, view }) =>
    view === null || known.includes(view)
      ? []
      : [
          `the key ${JSON.stringify(name)} has the view '${view}', which the file does not have, so its reads are 403; add the view, or mint another key`,
        ],
  )
}

/** Filters of views and rules, by values that no listing can have. @throws ConfigError for what refuses the start */
function vainFilters({ views, curation, vocabulary }: Config, spec: FilterSpec): Finding[] {
  const filters = knownFilters(spec, vocabulary)
  const known = [...spec.filters.values()].map((filter) => {
    const allowed = allowedValues(spec.listingShape as JsonValue, filter.compiled)
    return { ...filter, ...(allowed.length > 0 && { allowed }) }
  })
  const entries = [
    ...views.map(({ filter, placeOf }) => ({ filter, placeOf })),
    ...curation.rules.map(({ only, placeOf }) => ({ filter: only, placeOf })),
  ]
  return entries.flatMap(({ filter, placeOf }) => {
    const { filters: pairs, criteria } = standingFilter(filters, filter, placeOf)
    const unknown = pairs.flatMap((pair) =>
      describeUnknownValues(known, [pair]).map((text) => finding('warning', placeOf(pair[0]), text)),
    )
    return [
      ...unknown,
      ...emptyRanges(criteria).map(([name, text]) => finding('warning', placeOf(name), text)),
    ]
  })
}

/** Filters that exclude each other: one of them wants more of a value than another allows. */
function emptyRanges(criteria: readonly Criterion[]): [name: string, text: string][] {
  const ranges = criteria.flatMap(({ filter: { name, path }, test, onMissing }) =>
    test.op === 'range' && onMissing !== 'pass' ? [{ name, path, low: test.low, high: test.high }] : [],
  )
  return ranges.flatMap(({ name, path, low }) =>
    ranges
      .filter((other) => other.path === path && low && other.high && low.value > other.high.value)
      .map(({ name: other, high }): [string, string] => [
        name,
        `wants at least ${low!.value}, and ${other} at most ${high!.value}, so nothing matches`,
      ]),
  )
}

async function checkUpstream(
  client: RegistryClient,
  upstream: Config['upstreams'][number],
  config: Config,
): Promise<Finding[]> {
  const { identity, vocabulary } = config
  const { name, url, key, pin, timeoutMs } = upstream
  const subject = `${name} (${url})`
  const advice = {
    keyless: 'it may need api_key_env or api_key_file',
    unpinned:
      'add protocol = "signed", authority and identities, as its operator names them, and [gateway.identity]',
  }
  const registry = { url, key, ...(pin && { signed: { pin, identity: async () => identity! } }) }
  const visit = await visitRegistry(client, registry, timeoutMs, advice)
  // The service starts without it, but a refused key is a mistake of the file.
  const state = visit.state === 'wrong' && !visit.unauthorized ? 'warning' : visit.state
  const { listings } = visit
  const only = onlyOf(upstreamRules(config), name)
  const declared = only.criteria.length === 0 ? null : client.spec(registry, timeoutMs)
  await declared?.load()
  const held =
    listings === undefined
      ? ''
      : `; in memory${declared === null ? newestOf(upstream, listings) : describeOnly(only, declared.current)}`
  const unknown =
    listings === undefined ? [] : await findUnknownNames(client, { registry, ...upstream }, vocabulary)
  return [
    finding(state, subject, `${visit.finding}${held}${describePin(pin)}`),
    ...unknown.map((text) => finding('warning', subject, text)),
  ]
}

function describePin(pin: Config['upstreams'][number]['pin']): string {
  if (pin === null) return ''
  return pin.keys.length === 1
    ? '; one key is pinned'
    : '; two keys are pinned: remove the old one when the Registry signs with the new one'
}

/** Listings by which an upstream is judged. */
const JUDGED = 200
/** Share of names that may be unknown. */
const MAX_UNKNOWN = 0.1

/** A warning for models, and one for regions, where more than a tenth is not recognised; none where it does not answer. */
async function findUnknownNames(
  client: RegistryClient,
  {
    registry,
    name,
    timeoutMs,
  }: Pick<Config['upstreams'][number], 'name' | 'timeoutMs'> & { registry: Registry },
  vocabulary: Config['vocabulary'],
): Promise<string[]> {
  const answer = await getEndpoint(client, registry, `/listings?limit=${JUDGED}`, timeoutMs).catch(() => null)
  if (answer === null) return []
  const items = listAt(readJsonObject(answer), 'items')
  const read = items.map((item) => ({ item, ...vocabulary.read(item, name) }))
  const gpus = read.filter(({ gpu }) => gpu.isGpu)
  return [
    unknownShare(gpus, 'gpu_model', ({ gpu }) => gpu.model === null, 'models', 'gpus'),
    unknownShare(read, 'region', ({ place }) => place.continent === null, 'regions', 'places'),
  ].filter((text) => text !== null)
}

function unknownShare<Read extends { item: JsonValue }>(
  all: readonly Read[],
  member: string,
  isUnknown: (read: Read) => boolean,
  what: string,
  setting: string,
): string | null {
  const named = all.filter(({ item }) => textAt(item, 'offer_resource', member) !== null)
  const unknown = named.filter(isUnknown)
  if (unknown.length <= named.length * MAX_UNKNOWN) return null
  const example = JSON.stringify(textAt(unknown[0]!.item, 'offer_resource', member))
  return `${unknown.length} of ${named.length} ${what} are not known, such as ${example}: no filter by meaning finds them; add them to a file of [vocabulary] ${setting}`
}

/** What will be held of the upstream, as expected before its first pull. */
function newestOf({ maxListings }: Config['upstreams'][number], listings: number): string {
  return maxListings === null || listings <= maxListings ? '' : `, the newest ${maxListings}`
}

function describeOnly(only: StandingFilter, spec: UpstreamSpec | null): string {
  const sendable = sendableFilters(only, spec?.filters)
  const words = only.criteria.map(
    ({ filter: { name } }) => `${name} is ${sendable.has(name) ? 'sent to it' : 'applied here'}`,
  )
  return `, as far as its rules keep it: ${words.join(', ')}`
}

function upstreamRules({ curation, vocabulary, filterSpecPath }: Config): Parameters<typeof onlyOf>[0] {
  try {
    const filters = knownFilters(readFilterSpec(filterSpecPath), vocabulary)
    return curation.rules.map(({ source, only, placeOf }) => ({
      sources: source === null ? null : [source],
      only: standingFilter(filters, only, placeOf),
    }))
  } catch (cause) {
    // A finding of the files.
    if (cause instanceof ConfigError) return []
    throw cause
  }
}

/** Of the own filter spec, and derived ones. */
function knownFilters({ filters }: FilterSpec, vocabulary: Config['vocabulary']): Map<string, Filter> {
  const derived = vocabulary.filters(filters)
  return new Map([...filters, ...derived.map((filter) => [filter.name, filter] as const)])
}
