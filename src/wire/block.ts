import { z } from 'zod'
import { wireTimestamp } from './time.ts'

const MAX_REASON_LENGTH = 500
const MAX_SUBJECT_LENGTH = 2000

export const blockRequestSchema = z
  .looseObject({
    subject: z
      .string('Input should be a publisher, the URL of a storefront, or PUBLISHER/LISTING_ID')
      .min(1)
      .max(MAX_SUBJECT_LENGTH)
      .describe('`0x…` or `ed25519:…`, the URL of a storefront, or `PUBLISHER/LISTING_ID` for one listing'),
    reason: z
      .string('Input should be a text')
      .min(1)
      .max(MAX_REASON_LENGTH)
      .describe('The blocked seller reads it when the own Registry refuses a listing'),
    source: z.string().nullish().describe('The only source that it applies to; default: all'),
    until: z.iso
      .date('Input should be a date, such as 2026-12-31')
      .nullish()
      .describe('Its last day, in UTC'),
  })
  .meta({ id: 'BlockRequest' })

export const blockSchema = z
  .object({
    id: z.int(),
    subject: z.string(),
    source: z.string().nullable(),
    reason: z.string(),
    by: z.string().describe('Name of the key of the operator'),
    created_at: wireTimestamp,
    until: wireTimestamp.nullable().describe('From here on it does not hold; null: until it is undone'),
    ended_at: wireTimestamp.nullable().describe('When it was undone, or its time was up; null: it holds'),
  })
  .meta({ id: 'Block' })

export type BlockJson = z.infer<typeof blockSchema>
