// The size limits of the house, measured on the syntax tree: lines of a file, lines and complexity of a function.
// Pure; lint-limits.ts reads the files and prints what this finds.
import ts from 'typescript';

export interface Excess {
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly value: number;
  readonly limit: number;
}

export const LIMITS = { fileLines: 400, functionLines: 60, complexity: 10 } as const;

export function findExcesses(file: string, text: string): Excess[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = text.trimEnd().split('\n').length;
  const found = excess({ file, line: 1, what: 'lines in the file', value: lines, limit: LIMITS.fileLines });
  const visit = (node: ts.Node): void => {
    if (isFunction(node)) found.push(...functionExcesses(source, node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function functionExcesses(source: ts.SourceFile, node: ts.FunctionLikeDeclaration): Excess[] {
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const line = lineOf(node.getStart(source));
  const lines = lineOf(node.end) - line + 1;
  const name = nameOf(source, node);
  const at = { file: source.fileName, line };
  const long = isSuite(source, node) ? [] : excess({ ...at, what: `lines in ${name}`, value: lines, limit: LIMITS.functionLines });
  return [...long, ...excess({ ...at, what: `complexity of ${name}`, value: complexityOf(node), limit: LIMITS.complexity })];
}

function excess(measured: Excess): Excess[] {
  return measured.value > measured.limit ? [measured] : [];
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

function nameOf(source: ts.SourceFile, node: ts.FunctionLikeDeclaration): string {
  if (node.name) return node.name.getText(source);
  const parent = node.parent;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent))
    return parent.name.getText(source);
  return ts.isConstructorDeclaration(node) ? 'constructor' : 'a function without a name';
}

/** The body of `describe(…)`, or a shared suite that calls describe or it: a list of tests, each measured on its own. */
function isSuite(source: ts.SourceFile, node: ts.FunctionLikeDeclaration): boolean {
  if (calls(source, node.parent, /^describe\b/)) return true;
  const body = node.body && ts.isBlock(node.body) ? node.body.statements : [];
  return body.some((statement) => ts.isExpressionStatement(statement) && calls(source, statement.expression, /^(describe|it)\b/));
}

function calls(source: ts.SourceFile, node: ts.Node, name: RegExp): boolean {
  return ts.isCallExpression(node) && name.test(node.expression.getText(source));
}

const BRANCHES = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ConditionalExpression,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.CaseClause,
]);

// Not `??`: a default is no decision.
const OPERATORS = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.AmpersandAmpersandEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
]);

/** One more than the branches; a function inside counts for itself. */
function complexityOf(node: ts.FunctionLikeDeclaration): number {
  let branches = 0;
  const visit = (child: ts.Node): void => {
    if (isFunction(child)) return;
    if (BRANCHES.has(child.kind) || (ts.isBinaryExpression(child) && OPERATORS.has(child.operatorToken.kind))) branches++;
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return branches + 1;
}
