import { opensGates } from '../domain/api-key.ts'
import { suggestName } from '../domain/nearest-name.ts'
import { plural } from '../domain/plural.ts'
import { isLocalHost, isLocalUrl } from '../domain/private-address.ts'
import type { Visibility } from '../domain/source/upstream.ts'
import type { Violation } from '../errors.ts'
import { curationWarnings } from './curation.ts'
import type { GatewayFile } from './gateway-file.ts'
import { AUTHORITY_VARIABLES, type Authority } from './identity.ts'
import { SECRETS } from './secret-files.ts'
import type { Environment, Settings } from './settings.ts'

/** What is valid and probably not intended, each with what to do. No message holds a secret. */
export function configWarnings(
  config: Settings & GatewayFile & { authority: Authority | null },
  environment: Environment,
): Violation[] {
  return [
    ...unknownVariables(environment),
    ...weakKeys(config),
    ...uselessBootstrap(config),
    ...openGates(config),
    ...doubtfulUpstreams(config),
    ...betterPrivateUpstreams(config),
    ...exposedKeys(config),
    ...curationWarnings(config.curation, config.upstreams.length),
  ]
}

const OWN_PREFIX = /^(ENTREPOT|REGISTRY|METRICS)_/
/** Those of the service, and of the command line. */
const OWN_VARIABLES: readonly string[] = [
  ...SECRETS.flatMap((name) => [name, `${name}_FILE`]),
  ...AUTHORITY_VARIABLES,
  'ENTREPOT_CONFIG',
  'ENTREPOT_KEY_PASSPHRASE_FILE',
  'ENTREPOT_PRIVATE_KEY',
  'METRICS_PUBLIC',
  'REGISTRY_FILTER_SPEC_PATH',
  'REGISTRY_REQUIRE_READ_API_KEY',
  'REGISTRY_REQUIRE_WRITE_API_KEY',
]

function unknownVariables(environment: Environment): Violation[] {
  return Object.keys(environment)
    .filter((name) => OWN_PREFIX.test(name) && !OWN_VARIABLES.includes(name))
    .map((name) => ({
      path: name,
      message: `unknown variable, which has no effect${suggestName(name, OWN_VARIABLES)}`,
    }))
}

/** Bytes of a secret that `entrepot secret` prints, in hex. */
const STRONG_KEY_LENGTH = 64

function weakKeys({ adminKey, bootstrapKey, metricsKey }: Settings): Violation[] {
  const keys = {
    REGISTRY_ADMIN_API_KEY: adminKey,
    REGISTRY_BOOTSTRAP_API_KEY: bootstrapKey,
    REGISTRY_METRICS_API_KEY: metricsKey,
  }
  return Object.entries(keys).flatMap(([path, key]) => {
    if (key === null) return []
    if (!/^[\x21-\x7e]*$/.test(key))
      return [{ path, message: 'has characters that no client can send, such as spaces; replace it' }]
    if (key.length >= STRONG_KEY_LENGTH / 2) return []
    const message = `has ${key.length} characters and can be guessed; replace it with the output of: entrepot secret`
    return [{ path, message }]
  })
}

function uselessBootstrap(config: Settings & GatewayFile): Violation[] {
  if (config.bootstrapKey === null || openStoreProblem(config, 1) === null) return []
  const effect = config.setsGates ? '' : ', and once this one is in the store the service does not start'
  const message =
    `no gate asks for a key${effect}; remove it, or set ` +
    'REGISTRY_REQUIRE_READ_API_KEY or REGISTRY_REQUIRE_WRITE_API_KEY to true'
  return [{ path: 'REGISTRY_BOOTSTRAP_API_KEY', message }]
}

function openGates({ host, requireWriteKey, registry }: Settings & GatewayFile): Violation[] {
  const isReachable = host === '0.0.0.0' || host === '::' || !isLocalHost(host)
  if (requireWriteKey || !registry.enabled || !isReachable) return []
  const message = `false, and ${host} can be reached from other machines, so any wallet can publish; set it to true if that is not intended`
  return [{ path: 'REGISTRY_REQUIRE_WRITE_API_KEY', message }]
}

/**
 * Why a store with keys may not be meant to be open: keys are made for gates. It keeps the store from being opened, unless the
 * settings have both gates.
 * @param stored keys of the store that could pass a gate
 */
export function openStoreProblem(
  {
    requireReadKey,
    requireWriteKey,
    setsGates,
    upstreams,
    access,
    views,
    keys: { declared },
  }: Settings & GatewayFile,
  stored: number,
): Violation | null {
  const keys = stored + declared.filter(opensGates).length
  if (keys === 0 || requireReadKey || requireWriteKey) return null
  const isOne = access.anonymous === 'public' && access.keys === 'all' && views.length === 0
  if (!isOne || upstreams.some(({ visibility }) => visibility === 'private')) return null
  const message =
    `${declared.length === 0 ? 'the store has' : 'the store and the file of [keys] have'} ${plural(keys, 'API key')}, and no gate asks for one, so any client can read and publish; set it to ` +
    `true, or REGISTRY_REQUIRE_WRITE_API_KEY${setsGates ? '' : ', or both to false'}`
  return { path: 'REGISTRY_REQUIRE_READ_API_KEY', message }
}

function exposedKeys({
  identity,
  authority,
}: Pick<GatewayFile, 'identity'> & { authority: Authority | null }): Violation[] {
  const keys = [
    { path: 'gateway.identity.key_file', key: identity, who: 'gateway' },
    { path: 'REGISTRY_AUTHORITY_CREDENTIAL_FILE', key: authority, who: 'Registry' },
  ]
  return keys.flatMap(({ path, key, who }) => {
    if (key?.isExposed !== true) return []
    return {
      path,
      message: `others can read ${key.file}, and sign as this ${who}; run: chmod 600 ${key.file}`,
    }
  })
}

function doubtfulUpstreams({ gateway, upstreams }: GatewayFile): Violation[] {
  return upstreams.flatMap(({ name, url, timeoutMs, connectTimeoutMs, allowPrivateAddresses }, n) => {
    const warnings: Violation[] = []
    const warn = (member: string, message: string): void =>
      void warnings.push({ path: `upstreams[${n}].${member} (${name})`, message })
    const twin = upstreams.slice(0, n).find((other) => sameUrl(other.url, url))
    if (twin !== undefined)
      warn('url', `also the URL of ${twin.name}, so every listing is read twice; remove one of them`)
    if (timeoutMs > gateway.budgetMs)
      warn(
        'timeout_ms',
        `${timeoutMs} is more than gateway.budget_ms (${gateway.budgetMs}), which ends a request first; raise budget_ms, or lower timeout_ms`,
      )
    if (connectTimeoutMs > timeoutMs)
      warn('connect_timeout_ms', `${connectTimeoutMs} is more than timeout_ms (${timeoutMs}); lower it`)
    if (!allowPrivateAddresses && isLocalUrl(url))
      warn(
        'url',
        'leads to a private address, which is refused; set allow_private_addresses = true if that is intended',
      )
    return warnings
  })
}

/** The best source decides what is shown, of those that a reader may see. */
function betterPrivateUpstreams({ registry, upstreams }: GatewayFile): Violation[] {
  const ranked = rankedNames({ registry, upstreams })
  return upstreams.flatMap(({ name, visibility }, n) => {
    const worse = ranked.slice(ranked.findIndex((one) => one.name === name) + 1)
    const names = worse.filter((one) => one.visibility === 'public').map((one) => one.name)
    if (visibility === 'public' || names.length === 0) return []
    const message =
      `private, and better than ${names.join(', ')}: of a listing in both, anonymous readers get the worse copy, readers with a ` +
      'key the better one; raise its number if that is not intended'
    return [{ path: `upstreams[${n}].priority (${name})`, message }]
  })
}

type RankedName = { name: string; priority: number; visibility: Visibility }

/** The best first, as the gateway ranks them: the own Registry first among equals, then the order of the file. */
function rankedNames({ registry, upstreams }: Pick<GatewayFile, 'registry' | 'upstreams'>): RankedName[] {
  const ownRegistry: RankedName[] = registry.enabled
    ? [{ name: registry.name, priority: 0, visibility: 'public' }]
    : []
  return [...ownRegistry, ...upstreams].toSorted((a, b) => a.priority - b.priority)
}

/** `local 0, curated 1 (private)`. */
export function describeRanking(config: Pick<GatewayFile, 'registry' | 'upstreams'>): string {
  return rankedNames(config)
    .map(
      ({ name, priority, visibility }) =>
        `${name} ${priority}${visibility === 'private' ? ' (private)' : ''}`,
    )
    .join(', ')
}

function sameUrl(a: string, b: string): boolean {
  return new URL(a).href.replace(/\/+$/, '') === new URL(b).href.replace(/\/+$/, '')
}
