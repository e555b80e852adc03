// Several pieces of work at the same time, of which none may go on behind the back of a caller that was told of a failure. Knows no particular work.

/** What all come to, or the first error once all have ended. */
export async function allOrFirstError<T extends readonly unknown[]>(work: { readonly [K in keyof T]: Promise<T[K]> | T[K] }): Promise<T> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
