/** Laurel cannot start, for a reason that the operator can fix. The message is shown without a stack trace. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}
