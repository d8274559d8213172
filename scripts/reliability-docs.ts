import { readFileSync, writeFileSync } from 'node:fs'
import { BUDGET_MS, FAULT_CASES, type Kept } from '../test/integration/federation/fault-cases.ts'

/** `npm run docs` writes `docs/reliability.md` from the rows that `test/integration/federation/fault-matrix.test.ts` checks. */

export const RELIABILITY_DOCS = 'docs/reliability.md'

/** The text of `docs/reliability.md`. */
export const renderReliability = (): string => [INTRODUCTION, ...KEPT.map(section)].join('\n')

export const readReliability = (): string => readFileSync(RELIABILITY_DOCS, 'utf8')

const KEPT = ['none', 'fresh', 'stale'] as const satisfies readonly Kept[]

const INTRODUCTION = `# When an upstream fails

Written by \`npm run docs\` from the rows of \`test/integration/federation/fault-cases.ts\`; \`test/integration/federation/fault-matrix.test.ts\` checks each
of them with a real gateway over a real, scripted Registry. A row is the answer to a query of that upstream alone
(\`GET /listings?sources=NAME\`): the status, \`complete\`, the upstream's \`state\` and \`reason\` in \`sources\`, the
number of items, and the requests for listings to the upstream since its failure. The gateway of the matrix has a
budget of ${BUDGET_MS} ms. A query of several sources gets the listings of the others, with \`complete: false\` if one is \`unavailable\`.

- **one listing answers 500**: every page with that listing is a 500. It is skipped and counted as \`invalid\`. An
  upstream that serves no single listing is down; its circuit breaker opens after five failures in a row.
- **pages of two Registries**: pages do not join, as with a load balancer over two different Registries.
- **oldest first**: an order that no Registry promises. It is read all the same: a gateway sorts what it holds.

## How an upstream is held

All open listings are pulled regularly, and queries are answered from memory: no reader waits for the upstream, and every filter
is exact.

- Every \`refresh_seconds\`, plus or minus a tenth, the first page and the counts of the upstream are requested. Where they explain
  each other, what is new is added; otherwise the whole is pulled. It is pulled every \`full_refresh_seconds\`, too, up to five times less
  often while that finds nothing, never for more than a tenth of the time, and not while nothing reads answers or changes. A first pull
  that failed is tried again after \`refresh_seconds\`, however long it took.
- A Registry is pulled in pages that overlap by ten listings. A page has to contain a listing of the page before it;
  otherwise it is requested again from further back. So no listing that stays open is missed while others
  change. A gateway is pulled as one NDJSON stream behind its first page, of at most ten minutes. A pull is served completely or not at all.
- An upstream whose pages have \`Changes-Position\` is followed by its stream of changes, and pulled whole every 600 s only, or where
  the stream does not follow one of its sources. A stream that breaks off, or is silent for 45 s, is opened again from its last
  position; after a 410, a change that is not one, or more than 64 MiB in a minute, the whole is pulled. What a pull has and the stream
  did not name is counted as \`missed_changes\`. \`age_seconds\` of a followed upstream counts from the last byte of the stream.
- \`age_seconds\` counts from the last whole pull otherwise. A failed pull changes nothing else. The source is \`stale\` when that is older than
  \`max_age_seconds\`, or than two \`refresh_seconds\` while pulls fail, with the reason of the latest failure. It is served while the
  upstream is down, and pulled again after the period, or after 15 s if that is sooner. A 401 or 403 hides it until the
  upstream answers again.
- \`GET /listings/{id}\` asks the upstream if the data are older than \`fresh_seconds\`, for at most a second. A listing that it has no
  more leaves the memory; where it cannot be asked, the copy in memory is the answer.
- \`Cache-Control: no-cache\` requests the first page and the counts before the answer, at most once a second for all readers, and
  within the time limit of the query.
- The snapshot is saved with the store, once a minute at most and when the service ends: with SQLite beside the
  database (\`PATH-snapshots/NAME.json\`, readable by its owner only), with Redis under \`entrepot:held:…\`, by URL and credential,
  compressed, for a week, and only if it fits the upstream's part of \`cache.max_bytes\`. After a restart with the same
  URL, kind and key it is available at once, with its age.
- An upstream with more than \`max_listings\`, or with more bytes than better sources leave of \`cache.max_bytes\`, is held in part: the newest that
  fit. It says \`too_large\`, an answer with it is \`complete: false\`, and the log has a line for each change.
- Listings that are not open are of the gateway's own Registry.
`

const KEPT_TEXTS: Readonly<Record<Kept, string>> = {
  none: 'The first pull fails',
  fresh: 'The latest pull fails',
  stale: 'No pull has succeeded for two periods',
}

function section(kept: Kept): string {
  const rows = FAULT_CASES.filter(([ofKept]) => ofKept === kept)
  const cells = rows.map(([, fault, status, complete, state, reason, items, calls]) =>
    [fault, status, complete, state, reason, items, calls].map((cell) => cell ?? '–'),
  )
  const lines = [COLUMNS, COLUMNS.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |\n`)
  return `## ${KEPT_TEXTS[kept]}\n\n${lines.join('')}`
}

const COLUMNS = ['fault', 'status', 'complete', 'state', 'reason', 'items', 'calls']

if (import.meta.main) writeFileSync(RELIABILITY_DOCS, renderReliability())
