import { z } from 'zod'
import { AUDIT_KINDS } from '../domain/audit.ts'
import { wireTimestamp } from './time.ts'

export const auditEntrySchema = z
  .object({
    at: wireTimestamp.describe('Of one entry only: the `since` of the next page'),
    kind: z.enum(AUDIT_KINDS),
    by: z
      .string()
      .nullable()
      .describe('Name of the key, `operator` for REGISTRY_ADMIN_API_KEY, or `local:USER@HOST`'),
    key_id: z.int().nullable().describe('Of the key in `GET /admin/api-keys`'),
    publisher: z
      .string()
      .nullable()
      .describe('Address or key that signed the write; null for an act of an operator'),
    act: z.string().describe('Such as `block.add` or `listing.publish`'),
    subject: z.string().describe('What it was about'),
    client: z
      .string()
      .nullable()
      .describe('Its address, or a hash of it, as in the log; null: an act on the host'),
    result: z.string().describe('`ok`, or the code of the problem'),
  })
  .meta({ id: 'AuditEntry' })

export type AuditEntryJson = z.infer<typeof auditEntrySchema>
