import type { ServerResponse } from 'node:http'

/** As in nginx; RFC 9110 has no code for it. */
const CLIENT_CLOSED_REQUEST = 499

/** 499 if the connection closed before the whole response was sent. */
export function recordedStatus({ destroyed, writableFinished, statusCode }: ServerResponse): number {
  return destroyed && !writableFinished ? CLIENT_CLOSED_REQUEST : statusCode
}
