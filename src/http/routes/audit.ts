import { z } from 'zod'
import type { AuditEntry } from '../../domain/audit.ts'
import { formatTimestamp, type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import type { Audit } from '../../registry/audit.ts'
import { invalid } from '../../registry/errors.ts'
import { type AuditEntryJson, auditEntrySchema } from '../../wire/audit.ts'
import { readIntegerParameter } from '../parameters.ts'
import { integerParameter, json, NO_STORE, parameter, type Route } from '../route.ts'

const DEFAULT_LIMIT = 100

const SINCE = parameter(
  'query',
  'since',
  'ISO 8601: only entries after that time; of the next page, `at` of the last entry. Default: the latest entries',
)
const LIMIT = integerParameter('query', 'limit', 'Most entries in one answer', {
  minimum: 1,
  maximum: 1000,
  default: DEFAULT_LIMIT,
})

export const auditRoutes = (audit: Audit): Route[] => [
  {
    method: 'GET',
    path: '/admin/audit',
    gate: 'admin',
    summary: 'What operators did, and sellers where that is recorded',
    description:
      'Oldest first. Acts of operators: keys, blocks, reloads, requests to upstreams, backups. With `[audit] writes = true` also ' +
      'the signed writes of sellers. Entries are kept as `[audit]` sets.',
    parameters: [SINCE, LIMIT],
    responses: { 200: { description: 'The entries', schema: z.array(auditEntrySchema) } },
    problems: [422],
    handle: async ({ query }) => {
      const limit = readIntegerParameter(LIMIT, query.limit) ?? DEFAULT_LIMIT
      const entries = await audit.read(readSince(query.since), limit)
      return { ...json(entries.map(toJson)), headers: NO_STORE }
    },
  },
]

function readSince(text: string | undefined): Micros | null {
  if (text === undefined) return null
  const since = parseTimestamp(text)
  if (since === null)
    throw invalid([{ path: 'query.since', message: 'Input should be a time such as 2026-11-20T15:33:44Z' }])
  return since
}

const toJson = ({ at, keyId, ...entry }: AuditEntry): AuditEntryJson => ({
  at: formatTimestamp(at),
  kind: entry.kind,
  by: entry.by,
  key_id: keyId,
  publisher: entry.publisher,
  act: entry.act,
  subject: entry.subject,
  client: entry.client,
  result: entry.result,
})
