import type { JsonObject } from '../json/value.ts'
import { textOf } from './observation.ts'
import type { PresentationRecord, Step } from './record.ts'

export const lifecycleOf = (
  listing: JsonObject,
  { mode }: PresentationRecord['pricing'],
): PresentationRecord['lifecycle'] => ({
  advertised: advertised(listing),
  proposed: notStarted('no proposal by a buyer'),
  // A listed price cannot be negotiated, so it is never countered.
  countered:
    mode === 'listed'
      ? { status: 'not-applicable', label: 'the listed price is taken or left' }
      : notStarted('no counter-offer by the seller'),
  agreed: notStarted('no agreement'),
  settled: notStarted('no escrow'),
  fulfilled: notStarted('nothing delivered'),
  resolved: notStarted('nothing to resolve'),
})

export const notStarted = (label: string): Step => ({ status: 'not-started', label })

const advertised = ({ status }: JsonObject): Step =>
  status === 'open'
    ? { status: 'current', label: 'advertised and open' }
    : { status: 'complete', label: `advertised, now ${textOf(status) ?? 'of unknown status'}` }
