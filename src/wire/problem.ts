import { z } from 'zod'

export const violationSchema = z
  .object({ path: z.string(), message: z.string() })
  .meta({ id: 'Violation', description: 'What is wrong, and where' })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.array(violationSchema).optional(),
    suggestions: z
      .array(z.object({ query: z.record(z.string(), z.string()) }))
      .optional()
      .describe('Parameters that are probably meant'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' })
