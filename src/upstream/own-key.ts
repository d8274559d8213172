import { SourceError } from '../domain/source-error.ts'

/** A shorter key is a word that any answer may hold; ours and the deployed ones have 43 characters and more. */
const LEAST_LENGTH = 16

/**
 * Refuses an answer that repeats the key it was asked with (a proxy that reflects headers, say): listings go on as they
 * came, and every reader would have the key.
 * @throws SourceError `bad_envelope`
 */
export const withoutOwnKey = (body: Buffer, key: string | null): Buffer => {
  if (key === null || key.length < LEAST_LENGTH || !body.includes(key)) return body
  throw new SourceError('bad_envelope', 'the answer repeats the key that we sent')
}
