export type ClaimOperation = 'create_listing' | 'update_listing' | 'delete_listing'

/** What a seller's wallet signs as an EIP-191 personal message: docs/protocol.md#3-signatures. */
export const signedMessage = (operation: ClaimOperation, subject: string, timestamp: number): string =>
  `${operation}:${subject}:${timestamp}`
