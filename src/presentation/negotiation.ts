import type { NegotiationEntry, PresentationRecord } from './record.ts'
import { NEGOTIATION_STAGES } from './stages.ts'

/** Only the seller's advertisement is public. */
export const negotiationOf = (
  { advertised_rate: amount }: PresentationRecord['pricing'],
  publishedAt: string,
): NegotiationEntry[] =>
  NEGOTIATION_STAGES.map((stage) =>
    stage === 'advertised'
      ? {
          stage,
          status: 'shown',
          actor: 'seller',
          round: null,
          // Listings do not hold the signature of their publish.
          signature: null,
          occurred_at: publishedAt,
          amount,
        }
      : {
          stage,
          status: 'not-applicable',
          actor: null,
          round: null,
          signature: null,
          occurred_at: null,
          amount: null,
        },
  )
