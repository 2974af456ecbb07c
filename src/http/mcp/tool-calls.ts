import type { KeyObject } from 'node:crypto';
import { didYouMean } from '../../domain/nearest.ts';
import type { AuditEntry } from '../../postgres/access/audit.ts';
import { AppError } from '../../errors.ts';
import type { Caller, Operation } from '../../operations/operation.ts';
import type { ExchangeContext } from '../exchange-context.ts';
import { failureResponse } from '../respond.ts';
import {
  confirmationCode,
  type Confirmable,
  dryRunOf,
  previewing,
  readingOnce,
  readBefore,
  requireConfirmation,
  type Undo,
  undoOf,
} from './changes.ts';
import type { CalledBy, DirectCalls, Named } from './direct-call.ts';
import { OperationFinder } from './find-operation.ts';
import { CALL_OPERATION, FIND_OPERATION, LISTED, listedTool, operationTools, toolsOf, type Tool } from './tools.ts';

type Arguments = Readonly<Record<string, unknown>>;

export interface ToolResult {
  text: string;
  isError: boolean;
}

const NEXT =
  'Nothing has been changed. Show the user what would change. If the user agrees, call the tool again with the same arguments and this code as `confirm`.';

/**
 * What an assistant may do, and what happens when it does. A change takes two calls: the first answers what would change and a code, the second
 * has the code. Every call is in the audit log, also one that only reads and one that was refused.
 */
export class Tools {
  private readonly context: ExchangeContext;
  private readonly calls: DirectCalls;
  private readonly secret: KeyObject;
  private readonly byName: ReadonlyMap<string, Tool>;
  private readonly finder: OperationFinder;

  /** `secret`: of the codes that confirm changes. */
  constructor(context: ExchangeContext, operations: readonly Operation[], calls: DirectCalls, secret: KeyObject) {
    this.context = context;
    this.calls = calls;
    this.secret = secret;
    const tools = toolsOf(operations);
    this.byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.finder = new OperationFinder(tools);
  }

  /** The list of tools for a key: some operations, and the tools that find and call the others. */
  listed({ caller }: CalledBy): object[] {
    const own = [...this.byName.values()].filter((tool) => LISTED.has(tool.name) && mayUse(caller, tool));
    return [...operationTools({ isReader: caller.scope !== 'all' }), ...own.map(listedTool)];
  }

  /**
   * Uses a tool, or an operation that is not listed by its ID. Never rejects: what goes wrong is the result. Null: the key has
   * no such tool.
   */
  async use(name: string, args: Arguments, calledBy: CalledBy): Promise<ToolResult | null> {
    const isAllowed = (tool: Tool): boolean => mayUse(calledBy.caller, tool);
    let tool = this.byName.get(name);
    let input = args;
    try {
      if (name === FIND_OPERATION) {
        requireKnown(args, ['query', 'operation']);
        return { text: JSON.stringify(await this.finder.find(args, isAllowed)), isError: false };
      }
      if (name === CALL_OPERATION) {
        input = argumentsOf(args);
        tool = this.finder.named(args['operation'], isAllowed);
      }
    } catch (error) {
      return this.failed(error, name, calledBy);
    }
    return tool !== undefined && isAllowed(tool) ? this.call(tool, input, calledBy) : null;
  }

  private failed(error: unknown, operation: string, { by }: CalledBy): ToolResult {
    return {
      text: failureResponse(error, this.context, { operation, requestId: by.requestId ?? '' }).json!,
      isError: true,
    };
  }

  /** Calls an operation, and records it. */
  private async call(tool: Tool, args: Arguments, calledBy: CalledBy): Promise<ToolResult> {
    let result: ToolResult;
    let outcome: string;
    try {
      const isConfirmed = tool.changes && args['confirm'] !== undefined;
      outcome = tool.changes ? (isConfirmed ? 'changed' : 'previewed') : 'read';
      result = { text: await this.answer(tool, args, calledBy), isError: false };
    } catch (error) {
      outcome = 'refused';
      result = this.failed(error, tool.name, calledBy);
    }
    await this.record({ tool, args, outcome }, calledBy);
    return result;
  }

  private async answer(tool: Tool, args: Arguments, calledBy: CalledBy): Promise<string> {
    requireKnown(args, Object.keys(tool.inputSchema.properties));
    const named = namedBy(tool, args);
    if (!tool.changes) return this.read(tool.operation, named, calledBy);
    const { caller } = calledBy;
    const change = { tool, args, caller, tenantNo: await this.calls.tenantNoOf(tool.operation, calledBy) };
    if (args['confirm'] === undefined) return this.preview(change, named, calledBy);
    requireConfirmation(this.secret, change, this.context.services.clock.now());
    return this.change(tool.operation, named, calledBy);
  }

  private async read(operation: Operation, named: Named, calledBy: CalledBy): Promise<string> {
    return (await this.calls.call(operation, named, { calledBy })).text;
  }

  /** What a call would change: by a dry run, or the request and what it is about. */
  private async preview(change: Confirmable, named: Named, calledBy: CalledBy): Promise<string> {
    const { title, operation } = change.tool;
    const code = (): string => confirmationCode(this.secret, change, this.context.services.clock.now());
    const dryRun = dryRunOf(operation, named);
    if (dryRun.with === 'none') {
      await this.calls.checked(operation, named, calledBy);
      const { method, path } = operation;
      const request = { method: method.toUpperCase(), path, ...named };
      return JSON.stringify({
        wouldDo: title,
        request,
        now: await this.now(operation, named, calledBy),
        confirm: code(),
        next: NEXT,
      });
    }
    const { text } =
      dryRun.with === 'draft'
        ? await this.calls.call(operation, named, { calledBy, services: previewing(this.context.services) })
        : await this.calls.call(this.byName.get(dryRun.id)!.operation, dryRun.named, { calledBy });
    return JSON.stringify({ wouldAnswer: JSON.parse(text) as unknown, confirm: code(), next: NEXT });
  }

  /** What a GET of the same path answers now; undefined if there is none, or nothing there. */
  private async now({ path, surface }: Operation, named: Named, calledBy: CalledBy): Promise<unknown> {
    const reading = [...this.byName.values()].find(
      ({ operation }) => operation.path === path && operation.surface === surface && operation.method === 'get',
    );
    if (reading === undefined || reading.path.length === 0) return undefined;
    return this.readIfThere(reading.operation, { params: named.params, query: {} }, calledBy);
  }

  private async readIfThere(
    operation: Operation,
    named: Named,
    calledBy: CalledBy,
    services = this.context.services,
  ): Promise<unknown> {
    try {
      return JSON.parse((await this.calls.call(operation, named, { calledBy, services })).text) as unknown;
    } catch (error) {
      if (error instanceof AppError && error.status === 404) return undefined;
      throw error;
    }
  }

  private async change(operation: Operation, named: Named, calledBy: CalledBy): Promise<string> {
    const before = await this.before(operation, named, calledBy);
    const { status, text } = await this.calls.call(operation, named, { calledBy });
    const answer = JSON.parse(text) as unknown;
    const undo = undoOf(operation, named, { answer, before });
    return JSON.stringify({ status, answer, ...(undo && { undo: callable(undo) }) });
  }

  private async before(operation: Operation, named: Named, calledBy: CalledBy): Promise<unknown> {
    const id = readBefore(operation);
    if (id === null) return undefined;
    const reading = this.byName.get(id)!.operation;
    if (!Array.isArray(named.body)) return this.readIfThere(reading, { params: named.params, query: {} }, calledBy);
    const services = readingOnce(this.context.services);
    const states: unknown[] = [];
    for (const item of named.body as { id?: unknown }[]) {
      if (typeof item?.id !== 'string') continue;
      const of = { params: { ...named.params, id: item.id }, query: {} };
      const one = await this.readIfThere(reading, of, calledBy, services);
      if (one !== undefined) states.push(one);
    }
    return states;
  }

  /** Names of arguments only: their values may be personal. */
  private async record(
    { tool, args, outcome }: { tool: Tool; args: Arguments; outcome: string },
    calledBy: CalledBy,
  ): Promise<void> {
    const { path } = tool.operation;
    const userId = path.startsWith('/v1/users/{id}') && typeof args['id'] === 'string' ? args['id'] : undefined;
    const entry: AuditEntry = {
      action: 'call',
      kind: 'tool',
      name: tool.name,
      after: { outcome, arguments: Object.keys(args) },
      ...(userId !== undefined && { userId }),
    };
    const tenantNo = await this.calls.tenantNoOf(tool.operation, calledBy);
    await this.context.services.recordAudit({ tenantNo, by: calledBy.by, entries: [entry] });
  }
}

/** Whether a key may use an operation: a read-only key reads, a tenant's key has none of the organisation. */
const mayUse = (caller: Caller, { changes, operation }: Tool): boolean =>
  (!changes || caller.scope === 'all') && (operation.scope !== 'organisation' || caller.tenantNo === null);

function requireKnown(args: Arguments, known: readonly string[]): void {
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new AppError('invalid', `${unknown} is not an argument of this tool`, { hint: didYouMean(unknown, known) });
}

/** The arguments of the operation in a call of `call_operation`. The code stands beside them, or among them. */
function argumentsOf(args: Arguments): Arguments {
  requireKnown(args, ['operation', 'arguments', 'confirm']);
  const { arguments: own = {}, confirm } = args;
  if (typeof own !== 'object' || own === null || Array.isArray(own))
    throw new AppError('invalid', 'arguments must be an object: the arguments of the operation');
  return { ...own, ...(confirm !== undefined && { confirm }) };
}

/** An undo as a call of a tool that is listed. */
const callable = ({ tool, arguments: args }: Undo): Undo =>
  LISTED.has(tool)
    ? { tool, arguments: args }
    : { tool: CALL_OPERATION, arguments: { operation: tool, arguments: args } };

function namedBy(tool: Tool, args: Arguments): Named {
  const pick = (names: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]])));
  const { idempotencyKey } = args;
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'string')
    throw new AppError('invalid', 'idempotencyKey must be a string');
  return {
    params: pick(tool.path),
    query: pick(tool.query),
    ...(tool.hasBody && args['body'] !== undefined && { body: args['body'] }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}
