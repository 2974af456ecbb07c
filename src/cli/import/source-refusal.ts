/** The source refuses a request, or does not answer it as often as it is tried. */
export class SourceRefusal extends Error {
  /** 0: no answer. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
