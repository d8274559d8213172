import { z } from 'zod'
import type { TokenTable } from '../../domain/price/token.ts'
import { json, type Route } from '../route.ts'

const token = z
  .object({
    chain: z.string().describe('As listings name it; of a settlement option its mechanism'),
    address: z.string().describe('In lower case; of a settlement option its asset'),
    symbol: z.string(),
    decimals: z.int().describe('A whole token has 10 to this power of base units'),
    testnet: z.boolean().optional().describe('Of a test network: worth nothing'),
  })
  .meta({ id: 'Token', description: 'Named by the operator, never by a listing' })

export const tokenRoutes = ({ all }: TokenTable): Route[] => [
  {
    method: 'GET',
    path: '/tokens',
    gate: 'read',
    summary: 'The tokens whose symbol and decimals are known here',
    description:
      '`price_token` of `GET /listings` accepts their symbols and addresses. A symbol names its tokens on all chains, ' +
      'which may have other decimals there; its prices compare in whole tokens.',
    responses: { 200: { description: 'All of them', schema: z.object({ tokens: z.array(token) }) } },
    handle: () => json({ tokens: all }),
  },
]
