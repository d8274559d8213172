import { connect, type RequestOptions, sendRequest } from '../../client/request.ts'

/** Bytes of an answer of the gateway that serves the page. Rejects as `sendRequest` does. */
export async function request(
  path: string,
  key: string | null,
  options: RequestOptions,
): Promise<Uint8Array> {
  const gateway = connect({ url: new URL('.', document.baseURI), apiKey: key })
  return (await sendRequest(gateway, path, options)).body
}

/** Unchecked: the gateway's own answer. */
export const parseAnswer = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes))
