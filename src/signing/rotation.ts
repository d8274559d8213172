import { z } from 'zod'
import type { RotationIntent } from '../domain/publisher.ts'
import type { JsonValue } from '../json/value.ts'
import { frame } from './frame.ts'
import { isSamePrincipal, type Principal, readPrincipal, SCHEMES } from './principal.ts'
import { isProof, isProofText } from './proof.ts'

const ROTATION_VERSION = 'arkhai.market-identity-rotation.v1'
/** Of the form; a Registry allows less. */
const MAX_FORM_OVERLAP_SECONDS = 2_592_000

/** What both keys sign: one takes the place of the other. */
type SignedIntent = RotationIntent & {
  current: Principal
  replacement: Principal
  /** `publisher:` and its number. */
  subject: string
  /** The name of the Registry. */
  authority: string
}

type RotationRequest = { intent: SignedIntent; proofs: { current: string; replacement: string } }

const name = (most: number) =>
  z.string().refine((text) => {
    const { length } = [...text]
    return length >= 1 && length <= most && !text.includes('\0') && text.isWellFormed()
  })
const principal = z
  .strictObject({ scheme: z.enum(SCHEMES), identifier: z.string() })
  .transform(({ scheme, identifier }, context): Principal => {
    const read = readPrincipal(scheme, identifier)
    if (read !== null) return read
    context.addIssue('no identifier of the scheme')
    return z.NEVER
  })
const proof = z
  .strictObject({ scheme: z.enum(SCHEMES), value: z.string() })
  .refine(({ scheme, value }) => isProofText(scheme, value))
const form = z
  .strictObject({
    intent: z.strictObject({
      protocol: z.literal(ROTATION_VERSION).default(ROTATION_VERSION),
      current: principal,
      replacement: principal,
      subject: name(256),
      authority: name(256),
      nonce: name(128),
      overlap_seconds: z.int().min(0).max(MAX_FORM_OVERLAP_SECONDS),
      expires_at: z.int().min(1),
    }),
    current_proof: proof,
    replacement_proof: proof,
  })
  .refine(({ intent: { current, replacement } }) => !isSamePrincipal(current, replacement))
  .refine(({ intent, current_proof }) => intent.current.scheme === current_proof.scheme)
  .refine(({ intent, replacement_proof }) => intent.replacement.scheme === replacement_proof.scheme)

/** The request in a body; `null` for anything else. Proves nothing yet. */
export function readRotation(body: JsonValue): RotationRequest | null {
  const { data } = form.safeParse(body)
  if (data === undefined) return null
  const { overlap_seconds: overlapSeconds, expires_at: expiresAt, protocol: _, ...intent } = data.intent
  return {
    intent: { ...intent, overlapSeconds, expiresAt },
    proofs: { current: data.current_proof.value, replacement: data.replacement_proof.value },
  }
}

/** The bytes that both keys sign. */
export function rotationMessage(intent: SignedIntent): Buffer {
  const { current, replacement, subject, authority, nonce, overlapSeconds, expiresAt } = intent
  return frame([
    ROTATION_VERSION,
    current.scheme,
    current.identifier,
    replacement.scheme,
    replacement.identifier,
    subject,
    authority,
    nonce,
    String(overlapSeconds),
    String(expiresAt),
  ])
}

/** Whether both keys have signed it, and it has not expired. @param now Unix seconds */
export function isProvenRotation({ intent, proofs }: RotationRequest, now: number): boolean {
  if (now > intent.expiresAt) return false
  const message = rotationMessage(intent)
  return (
    isProof(intent.current, message, proofs.current) &&
    isProof(intent.replacement, message, proofs.replacement)
  )
}
