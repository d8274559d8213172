import { z } from 'zod'
import { type BlockSubject, readSubject } from '../domain/block.ts'
import type { Violation } from '../errors.ts'
import { type FilterEntries, filterTable, noSuch } from './views.ts'

/** Each listing is compared with all of them. */
const MAX_DENIED = 1000
const MAX_RULES = 100

const publisherText = z
  .string()
  .regex(
    /^(?:0[xX][0-9a-fA-F]{40}|ed25519:[\w-]{43})$/,
    'expected 0x and 40 hex digits, or ed25519: and a key',
  )

const storefrontText = z
  .string()
  .refine(
    (text) => readSubject(text)?.kind === 'storefront',
    'expected the http or https URL of a storefront, without a query',
  )

const rule = z.strictObject({
  source: z.string().optional(),
  deny: z
    .strictObject({
      publisher: z.array(publisherText).max(MAX_DENIED).optional(),
      storefront: z.array(storefrontText).max(MAX_DENIED).optional(),
    })
    .optional(),
  only: filterTable.optional(),
  label: z
    .string()
    .regex(/^[^\p{C}]{1,64}$/u, 'expected 1 to 64 printable characters')
    .optional(),
})

export const curationShape = {
  deny_publishers: z.array(publisherText).max(MAX_DENIED).default([]),
  rules: z.array(rule).max(MAX_RULES).default([]),
}

export type CurationOptions = {
  /** Left out everywhere. */
  denyPublishers: readonly BlockSubject[]
  rules: readonly RuleOptions[]
}

type RuleOptions = {
  /** `null`: every upstream. */
  source: string | null
  deny: readonly BlockSubject[]
  only: FilterEntries
  /** `null`: none. */
  label: string | null
  /** Place in the gateway file, of what the filter spec shows to be wrong. */
  placeOf: (filter: string) => string
}

type CurationDocument = { deny_publishers: readonly string[]; rules: readonly z.infer<typeof rule>[] }

/** Adds what is wrong with the sources of rules. */
export function checkCuration(
  { rules }: CurationDocument,
  sources: readonly string[],
  problems: Violation[],
): void {
  for (const [n, { source }] of rules.entries())
    if (source !== undefined && !sources.includes(source))
      problems.push({ path: `curation.rules[${n}].source`, message: noSuch('source', source, sources) })
}

/** @param placeOf file, line and path of a path */
export function curationOptions(
  { deny_publishers, rules }: CurationDocument,
  placeOf: (path: string) => string,
): CurationOptions {
  return {
    denyPublishers: subjects(deny_publishers),
    rules: rules.map(({ source = null, deny, only = {}, label = null }, n) => ({
      source,
      deny: subjects([...(deny?.publisher ?? []), ...(deny?.storefront ?? [])]),
      only,
      label,
      placeOf: (filter) => placeOf(`curation.rules[${n}].only.${filter}`),
    })),
  }
}

function subjects(texts: readonly string[]): BlockSubject[] {
  return texts.map(readSubject).filter((subject) => subject !== null)
}

/** What is valid, and leaves out or labels nothing. */
export function curationWarnings({ rules }: CurationOptions, upstreams: number): Violation[] {
  return rules.flatMap(({ source, deny, only, label }, n) => {
    const path = `curation.rules[${n}]`
    const labelled = rules.findIndex((one) => one.label !== null && one.source === source)
    const isEmpty = deny.length === 0 && Object.keys(only).length === 0 && label === null
    if (isEmpty)
      return [
        { path, message: 'leaves out nothing and labels nothing; add deny, only or label, or remove it' },
      ]
    if (source === null && upstreams === 0)
      return [
        {
          path,
          message: 'applies to every upstream, and the file has no upstream; name a source, or remove it',
        },
      ]
    if (label !== null && labelled < n)
      return [
        { path: `${path}.label`, message: `is never shown: curation.rules[${labelled}] labels the same` },
      ]
    return []
  })
}
