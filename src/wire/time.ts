import { z } from 'zod'

/** Of listings, publishers and keys: microseconds. */
export const wireTimestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$/)
  .describe('UTC, without a suffix')

/** Of sources. */
export const wireInstant = z.string().describe('ISO 8601, UTC')
