import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decodeState, type UserState } from '../../packed/state.ts';
import { userJson, type UserJson } from './payloads/payload.ts';

/** A user as an entry of the outbox left them: decoded, and made what payloads hold, when first asked for. */
export class RecordedUser {
  readonly userId: string;
  private readonly packed: Buffer;
  private readonly shown: { compiled: CompiledCatalog; controlShare: number };
  private decoded: UserState | undefined;
  private text: UserJson | undefined;

  /** `controlShare`: share of the users, 0 to 1, who are in the control group. */
  constructor(shown: { compiled: CompiledCatalog; controlShare: number }, userId: string, packed: Buffer) {
    this.shown = shown;
    this.userId = userId;
    this.packed = packed;
  }

  /** Throws what decoding throws. */
  state(): UserState {
    return (this.decoded ??= decodeState(this.packed));
  }

  json(): UserJson {
    const { userId, shown } = this;
    return (this.text ??= userJson(shown.compiled, { userId, state: this.state(), controlShare: shown.controlShare }));
  }
}
