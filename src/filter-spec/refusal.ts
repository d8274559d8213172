import { EntrepotError } from '../errors.ts'

const MAX_QUOTED_CHARACTERS = 200

/** In the deployed protocol's words: docs/protocol.md#6-filters. @throws EntrepotError `bad_request` */
export function refuse(parameter: string, sentence: string): never {
  throw new EntrepotError('bad_request', `${parameter}: ${sentence}`)
}

export const quote = (text: string): string =>
  `'${text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text}'`
