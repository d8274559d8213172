import { z } from 'zod'
import { PRICE_PERS } from '../domain/price/price-key.ts'

export const itemPriceSchema = z
  .object({
    chain: z.string(),
    token: z.string().describe('Address, lower-case'),
    symbol: z.string().optional().describe("Only for tokens of the operator's file"),
    decimals: z.int().optional().describe('With `symbol`'),
    value: z.string().describe('Base units per `per`, as published'),
    per: z.string().describe('As published'),
    unit: z.string().describe('`hour` for every unit of time, else `per`'),
    gpus: z.int().nullable().describe('`null` for a count that cannot be'),
    price_per: z.enum(PRICE_PERS),
    amount: z
      .string()
      .describe('What was compared, per `unit` and GPU or offer, rounded up; base units without `symbol`'),
  })
  .meta({ id: 'ItemPrice', description: 'The price that was compared' })

export type ItemPrice = z.infer<typeof itemPriceSchema>
