/** Resolves when the condition holds, which work in the background is about to bring about. */
export const eventually = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
