import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import type { ReloadResultJson } from '../wire/fleet.ts'

const SETTINGS = [
  ['gateway', 'gateway'],
  ['registry', 'registry'],
  ['cache', 'cache'],
  ['limits', 'limits'],
  ['tokens', 'tokens'],
  ['REGISTRY_ADMIN_API_KEY', 'adminKey'],
] as const

/** What differs between two configurations, by the names of the settings. */
export function configChanges(
  before: Config,
  after: Config,
): Pick<ReloadResultJson, 'upstreams' | 'changed'> {
  const old = new Map(before.upstreams.map((one) => [one.name, one]))
  const wanted = new Map(after.upstreams.map((one) => [one.name, one]))
  const names = [...wanted.keys()]
  return {
    upstreams: {
      added: names.filter((name) => !old.has(name)),
      removed: [...old.keys()].filter((name) => !wanted.has(name)),
      changed: names.filter((name) => old.has(name) && !isDeepStrictEqual(old.get(name), wanted.get(name))),
    },
    changed: SETTINGS.filter(([, key]) => !isDeepStrictEqual(before[key], after[key])).map(([name]) => name),
  }
}
