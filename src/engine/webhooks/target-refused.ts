/** Nothing was sent, because the address is none that webhooks may go to. The message is for a person and names no address. */
export class TargetRefused extends Error {
  constructor(message = 'the address is not public (WEBHOOK_ALLOW_PRIVATE=1 allows it)') {
    super(message);
    this.name = 'TargetRefused';
  }
}
