/**
 * The outcome of `work`, unless `signal` aborts first: then a rejection with its reason, at once, whether or not the
 * work heeds the signal itself. What the work does after that is heard by nobody.
 */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
