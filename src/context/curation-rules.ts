import type { CurationOptions } from '../config/curation.ts'
import { NO_FILTER } from '../domain/query.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { CurationRule } from '../gateway/rules.ts'
import { standingFilter } from '../gateway/standing-filter.ts'
import type { LocalRules } from '../registry/blocks.ts'

type KnownNames = {
  /** Of the own filter spec, and derived ones. */
  filters: ReadonlyMap<string, Filter>
  /** Names of all upstreams. */
  upstreams: readonly string[]
}

/** The rules of the gateway file, in its order. @throws ConfigError for a filter that is not known */
export function curationRules(
  { denyPublishers, rules }: CurationOptions,
  { filters, upstreams }: KnownNames,
): CurationRule[] {
  const everywhere = { sources: null, deny: denyPublishers, only: NO_FILTER, label: null }
  const ofFile = rules.map(
    ({ source, deny, only, label, placeOf }, n): CurationRule => ({
      name: `curation.rules[${n}]`,
      sources: source === null ? upstreams : [source],
      deny,
      only: standingFilter(filters, only, placeOf),
      label,
    }),
  )
  return denyPublishers.length === 0
    ? ofFile
    : [{ name: 'curation.deny_publishers', ...everywhere }, ...ofFile]
}

/** Whose publishes the own Registry refuses. */
export function localDenials({ denyPublishers, rules }: CurationOptions, name: string): LocalRules['denied'] {
  const ofRules = rules.flatMap(({ source, deny }) => (source === name ? deny : []))
  return [...denyPublishers, ...ofRules].map((subject) => ({
    subject,
    reason: 'its configuration denies it',
  }))
}
