import { ProblemError } from '../../client/problem-error.ts'
import { connect, type RawAnswer, type RequestOptions, sendRequest } from '../../client/request.ts'

/** Bytes of an answer of the gateway that serves the page. Rejects as `sendRequest` does. */
export async function request(
  path: string,
  key: string | null,
  options: RequestOptions,
): Promise<Uint8Array> {
  return (await requestAnswer(path, key, options)).body
}

export async function requestAnswer(
  path: string,
  key: string | null,
  options: RequestOptions,
): Promise<RawAnswer> {
  return sendRequest(connect({ url: new URL('.', document.baseURI), apiKey: key }), path, options)
}

/** Unchecked: the gateway's own answer. @throws SyntaxError */
export const parseAnswer = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes))

/** Of anything that `request` or the reading of its answer throws. */
export const toProblemError = (cause: unknown): ProblemError =>
  cause instanceof ProblemError
    ? cause
    : new ProblemError(0, { detail: 'The answer cannot be read.' }, { cause })
