import { z } from 'zod'
import { sourceReportSchema, sourcesCountedSchema } from './source.ts'

const spellingSchema = z
  .object({
    source: z.string(),
    field: z.enum(['gpu_model', 'region']),
    text: z.string(),
    count: z.int(),
  })
  .meta({ id: 'Spelling' })

const vocabularySchema = z
  .object({
    filters: z.array(z.string()).describe('Derived filters that the filter specs leave'),
    gpus: z
      .array(
        z.object({
          gpu: z.string(),
          vendor: z.string().optional(),
          memory_gb: z
            .array(z.number())
            .describe('Of one GPU, by the data sheet; several where the name leaves it open'),
          listings: z.int(),
          spellings: z
            .array(z.object({ text: z.string(), count: z.int() }))
            .describe('The 50 most frequent ones'),
        }),
      )
      .describe('All known models; open listings, and how sellers write them'),
    countries: z.array(
      z.object({ country: z.string(), name: z.string(), continent: z.string(), listings: z.int() }),
    ),
    not_recognised: z
      .array(spellingSchema)
      .describe('Most listings first, at most 500, each text up to 200 characters'),
  })
  .meta({ id: 'Vocabulary' })

/** The body of `GET /vocabulary`. */
export const vocabularyReportSchema = vocabularySchema.extend({
  complete: z.boolean(),
  sources: z.array(sourceReportSchema),
  sources_counted: sourcesCountedSchema,
})

export type SpellingJson = z.infer<typeof spellingSchema>
export type VocabularyReportJson = z.infer<typeof vocabularyReportSchema>
export type VocabularyJson = z.infer<typeof vocabularySchema>
