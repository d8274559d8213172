import type { ListingShapeMode } from '../../config/gateway-file.ts'
import type { Caller } from '../../domain/api-key.ts'
import { isActive, type PublisherIdentity } from '../../domain/publisher.ts'
import type { EntrepotError } from '../../errors.ts'
import type { SignedOperation, Use } from '../../store/commands.ts'
import type { Store } from '../../store/store.ts'
import type { LocalRules } from '../blocks.ts'
import { invalidSignature, notFound, notOwnedByPrincipal, retiredPrincipal } from '../errors.ts'
import type { Replica } from '../replica.ts'
import { type Verifier, verifyClaim } from '../verify-claim.ts'
import type { ShapeCheck } from './listing-shape.ts'
import {
  type IsFieldName,
  isFieldName,
  isPlainName,
  type JsonBody,
  readIdentifier,
  readListingId,
  readScheme,
  readSignedListingId,
} from './request.ts'
import type { SignedWriter } from './signed-write.ts'

export type WriteContext = LocalRules & {
  store: Store
  replica: Replica
  verifier: Verifier
  shape: { mode: ListingShapeMode; check: ShapeCheck }
  /** Of one publisher; 0 for unlimited. */
  maxListings: number
  requiresKey: boolean
}

export type Asked = {
  operation: SignedOperation
  /** Of the path; the body of a publish has its own. */
  listingId: string
  body: JsonBody
  /** Whether that listing exists. */
  isKnown: boolean
}

/** In what the two lines of the protocol differ. */
export type Line = {
  /** Who writes. @throws EntrepotError in the words of the line */
  verify: (asked: Asked, context: WriteContext) => Verified
  /** Members that are published. */
  isName: IsFieldName
  /** The answer to a change of another's listing. */
  notOwner: () => EntrepotError
  /** The API key of the request; `null` if writes need none. */
  keyId: number | null
}

type Verified = { identity: PublisherIdentity; use: Use; listingId: string }

/** Each request has the signature of a wallet. */
export const plainLine = (caller: Caller, { requiresKey }: WriteContext): Line => ({
  verify: (asked, context) => (asked.operation === 'publish' ? verifyPublish : verifyChange)(asked, context),
  isName: isPlainName,
  notOwner: invalidSignature,
  keyId: requiresKey && caller.kind === 'key' ? caller.key.id : null,
})

/** The replay guard of this line has verified, counted and admitted the request before. */
export const signedLine = ({ identity, use }: SignedWriter): Line => ({
  verify: ({ operation, listingId, body }, { replica: { projection } }) => {
    if (operation !== 'publish') return { identity, use, listingId }
    const published = readSignedListingId(body.value)
    const publisher = projection.publisherOf(identity)
    if (publisher !== null && !isActive(publisher, identity, use.now)) throw retiredPrincipal()
    return { identity, use, listingId: published }
  },
  isName: isFieldName,
  notOwner: notOwnedByPrincipal,
  keyId: null,
})

function verifyPublish({ body }: Asked, { verifier }: WriteContext): Verified {
  const subject = readIdentifier(body.value)
  const claim = { subject, signer: subject.toLowerCase(), scheme: readScheme(body.value) }
  const verified = verifyClaim({ operation: 'create_listing', ...claim }, body, verifier)
  return { ...verified, listingId: readListingId(body.value) }
}

/** @throws EntrepotError `not_found` before any `unauthorized`, as the deployed protocol orders them */
function verifyChange({ operation, listingId, body, isKnown }: Asked, { verifier }: WriteContext): Verified {
  // A request without a signature is no repeat.
  if (!isKnown && !(body.value.signature && body.value.timestamp)) throw notFound()
  const name = operation === 'update' ? 'update_listing' : 'delete_listing'
  const claim = { operation: name, subject: listingId, signer: null, scheme: 'eip191' } as const
  try {
    return { ...verifyClaim(claim, body, verifier), listingId }
  } catch (cause) {
    throw isKnown ? cause : notFound()
  }
}
