import { EntrepotError } from '../errors.ts'

const MAX_QUOTED_CHARACTERS = 200

/**
 * Refuses a query parameter, in the deployed protocol's words: docs/protocol.md#6-filters.
 * @throws EntrepotError `bad_request`, always
 */
export const refuse = (parameter: string, sentence: string): never => {
  throw new EntrepotError('bad_request', `${parameter}: ${sentence}`)
}

/** The reader's own text in plain single quotes, cut where it is long. */
export const quote = (text: string): string =>
  `'${text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text}'`
