/** First in, first out. Taking one is cheap however long it is. */
export class Queue<T> {
  private items: T[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.items[this.head]!;
    this.head += 1;
    if (this.head * 2 > this.items.length) {
      this.items.splice(0, this.head);
      this.head = 0;
    }
    return item;
  }

  /** Takes all. */
  drain(): T[] {
    const left = this.items.slice(this.head);
    this.items = [];
    this.head = 0;
    return left;
  }
}
