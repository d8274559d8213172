import type { ServerResponse } from 'node:http'

/** What nginx logs, too; RFC 9110 has no code for it. */
const CLIENT_CLOSED_REQUEST = 499

/** The status under which a response is recorded: 499 where the connection closed before all of it was sent. */
export function recordedStatus({ destroyed, writableFinished, statusCode }: ServerResponse): number {
  return destroyed && !writableFinished ? CLIENT_CLOSED_REQUEST : statusCode
}
