/** A shard's outbox cannot be stored, from no fault of a single entry, until Redis or a person has mended it. */
export class StuckShard extends Error {
  readonly shard: number;
  readonly streamId: string;

  constructor(shard: number, streamId: string, cause: unknown) {
    super(
      `Shard ${shard} stands still at outbox entry ${streamId}: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'StuckShard';
    this.shard = shard;
    this.streamId = streamId;
  }
}
